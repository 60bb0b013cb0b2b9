// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/targets/http_target.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

std::string failure_with(const std::string& text, const TargetOptions& options = {},
                         const std::string& scheme = "") {
  try {
    check_http_target(text, options, scheme);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(HttpTarget, AURLIsKnownByItsScheme) {
  EXPECT_TRUE(is_http_url("http://a"));
  EXPECT_TRUE(is_http_url("otlp+https://a", "otlp+"));
  EXPECT_FALSE(is_http_url("https://a", "otlp+"));
  EXPECT_FALSE(is_http_url("ftp://a"));
}

TEST(HttpTarget, WhatIsWrongWithTheURLIsSaid) {
  if (!why_no_http().empty()) GTEST_SKIP() << why_no_http();
  EXPECT_EQ(check_http_target("http://host:4040//", {}), "http://host:4040");
  EXPECT_EQ(check_http_target("otlp+http://host/a/", {}, "otlp+"), "http://host/a");
  for (const char* url : {"http://", "http://:4040", "https:///"}) {
    EXPECT_NE(failure_with(url).find("names no host"), std::string::npos) << url;
  }
  EXPECT_NE(failure_with("otlp+http://", {}, "otlp+").find("give otlp+http://HOST:PORT"), std::string::npos);
  EXPECT_NE(failure_with("http://a:b@host").find("--password-file"), std::string::npos);
  EXPECT_EQ(failure_with("http://a:secret@host").find("secret"), std::string::npos) << "it would be in a log";
  EXPECT_NE(failure_with("http://host/?a=b").find("has ?, # or blanks"), std::string::npos);
}

TEST(HttpTarget, WhatIsWrongWithFilesIsSaid) {
  if (!why_no_http().empty()) GTEST_SKIP() << why_no_http();
  const testing_tools::Folder folder;
  TargetOptions options;
  options.access.token_file = folder / "gone";
  EXPECT_NE(failure_with("http://a", options).find("gone: cannot read it"), std::string::npos);
  options = {};
  options.access.password_file = folder / "password";
  testing_tools::write_file(options.access.password_file, "no colon\n");
  EXPECT_NE(failure_with("http://a", options).find("NAME:PASSWORD"), std::string::npos);
  options = {};
  options.access.ca_file = folder / "password";
  EXPECT_NE(failure_with("http://a", options).find("no certificate"), std::string::npos);
}

TEST(HttpTarget, WithoutItsSecretNothingIsSent) {
  TargetOptions options;
  options.access.token_file = "/gone/token";
  Http http;
  const HttpAnswer answer = post_to_target(http, {}, options, true);
  EXPECT_EQ(answer.status, 0);
  EXPECT_NE(answer.error.find("/gone/token: cannot read it"), std::string::npos);
  EXPECT_FALSE(without_answer(answer, "u").may_be_there);
  EXPECT_EQ(without_answer(answer, "u").end, Sent::End::kLater);
  EXPECT_EQ(without_answer(answer, "u").why, "u: " + answer.error);
}

}  // namespace
}  // namespace memprof::cli
