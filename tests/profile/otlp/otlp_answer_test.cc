// SPDX-License-Identifier: Apache-2.0
#include "profile/otlp/otlp_answer.h"

#include <gtest/gtest.h>

#include <protozero/pbf_writer.hpp>

namespace memprof::profile {
namespace {

std::string partial_success(int64_t rejected, const std::string& message) {
  std::string partial;
  protozero::pbf_writer(partial).add_int64(1, rejected);
  if (!message.empty()) protozero::pbf_writer(partial).add_string(2, message);
  std::string bytes;
  protozero::pbf_writer(bytes).add_message(1, partial);
  return bytes;
}

TEST(OtlpAnswer, NothingIsASuccess) {
  const auto answer = read_otlp_answer("");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->rejected_profiles, 0U);
  EXPECT_EQ(answer->message, "");
}

TEST(OtlpAnswer, HasWhatWasRejectedAndWhy) {
  auto answer = read_otlp_answer(partial_success(3, "too old"));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->rejected_profiles, 3U);
  EXPECT_EQ(answer->message, "too old");
  answer = read_otlp_answer(partial_success(-5, ""));
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->rejected_profiles, 0U);
  // Fields of later versions.
  std::string more = partial_success(1, "");
  protozero::pbf_writer(more).add_string(99, "x");
  protozero::pbf_writer(more).add_fixed32(98, 1);
  answer = read_otlp_answer(more);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->rejected_profiles, 1U);
}

TEST(OtlpAnswer, MayBeJson) {
  auto answer = read_otlp_answer(R"({"partialSuccess":{"rejectedProfiles":"2","errorMessage":"no"}})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->rejected_profiles, 2U);
  EXPECT_EQ(answer->message, "no");
  answer = read_otlp_answer(R"({"partialSuccess":{"rejectedProfiles":2}})");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->rejected_profiles, 2U);
  for (const char* body :
       {"{}", R"({"partialSuccess":null})", R"({"partialSuccess":{"rejectedProfiles":-2}})"}) {
    answer = read_otlp_answer(body);
    ASSERT_TRUE(answer) << body;
    EXPECT_EQ(answer->rejected_profiles, 0U);
  }
}

TEST(OtlpAnswer, AnotherServersIsNone) {
  for (const std::string body : {"<html>hello</html>", "{\"a\":", "hello world", "[]"}) {
    EXPECT_FALSE(read_otlp_answer(body)) << body;
  }
  const std::string whole = partial_success(3, "too old");
  for (size_t size = 1; size < whole.size(); ++size) {
    EXPECT_FALSE(read_otlp_answer(whole.substr(0, size))) << size;
  }
}

TEST(OtlpStatus, HasItsMessage) {
  std::string status;
  protozero::pbf_writer(status).add_int32(1, 3);
  protozero::pbf_writer(status).add_string(2, "what is wrong");
  EXPECT_EQ(read_otlp_status(status), "what is wrong");
  EXPECT_EQ(read_otlp_status(""), "");
  EXPECT_EQ(read_otlp_status("<html>"), "");
  EXPECT_EQ(read_otlp_status("{\"message\":\"a\"}"), "");
}

}  // namespace
}  // namespace memprof::profile
