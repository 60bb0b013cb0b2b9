// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/targets/otlp_target.h"

#include <gtest/gtest.h>

#include <protozero/pbf_reader.hpp>
#include <protozero/pbf_writer.hpp>

#include "memprof/console/failure.h"
#include "profile/model/error.h"
#include "profile/model/metric.h"
#include "profile/pprof/pprof_writer.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using SentEnd = Sent::End;

HttpAnswer served(int status, const std::string& body = "") {
  HttpAnswer answer;
  answer.status = status;
  answer.body = body;
  answer.was_sent = true;
  return answer;
}

std::string rejected(int64_t count, const std::string& message) {
  std::string partial;
  protozero::pbf_writer(partial).add_int64(1, count);
  protozero::pbf_writer(partial).add_string(2, message);
  std::string bytes;
  protozero::pbf_writer(bytes).add_message(1, partial);
  return bytes;
}

Look look_of(double bytes) {
  profile::Profile profile;
  profile.rate_bytes = 1;
  profile.functions = {{"f", "f", "", 0}};
  profile.locations = {{1, profile::kNoMapping, false, {{0, 0}}}};
  profile::Stack stack;
  stack.locations = {0};
  profile.has_metric[metric_index(profile::Metric::kAllocSpace)] = true;
  stack.values[metric_index(profile::Metric::kAllocSpace)] = bytes;
  profile.stacks = {stack};
  Look look;
  look.sequence = 9;
  look.labels = {{"service_name", "web"}, {"pid", "17"}, {"region", "eu"}};
  look.pprof = profile::write_pprof(profile);
  return look;
}

TEST(OtlpTarget, LabelsAreAttributesByTheNamesOfTheConventions) {
  const profile::OtlpRequest request = otlp_request(look_of(5), "0123456789abcdef");
  EXPECT_EQ(request.profiles, 1U);
  for (const char* key : {"service.name", "process.pid", "region", "alloc_space"}) {
    EXPECT_NE(request.bytes.find(key), std::string::npos) << key;
  }
  EXPECT_EQ(request.bytes.find("service_name"), std::string::npos);
  EXPECT_NE(request.bytes.find("\x01\x23\x45\x67\x89\xab\xcd\xef"), std::string::npos) << "the spool's id";
  EXPECT_EQ(otlp_request(look_of(0), "1").profiles, 0U);
  Look damaged = look_of(5);
  damaged.pprof = "no profile";
  EXPECT_THROW(otlp_request(damaged, "1"), profile::Error);
}

TEST(OtlpTarget, WhatIsRejectedIsCounted) {
  EXPECT_EQ(otlp_answer(served(200), "u", 4).end, SentEnd::kAccepted);
  EXPECT_EQ(otlp_answer(served(202, "{}"), "u", 4).end, SentEnd::kAccepted);
  const Sent partly = otlp_answer(served(200, rejected(1, "too old")), "u", 4);
  EXPECT_EQ(partly.end, SentEnd::kPartly);
  EXPECT_EQ(partly.rejected_profiles, 1U);
  EXPECT_EQ(partly.why, "u: rejected 1 of 4 profiles: too old");
  const Sent none = otlp_answer(served(200, rejected(9, "no")), "u", 4);
  EXPECT_EQ(none.end, SentEnd::kRefused);
  EXPECT_EQ(none.rejected_profiles, 4U);
  const Sent warned = otlp_answer(served(200, rejected(0, "use zstd")), "u", 4);
  EXPECT_EQ(warned.end, SentEnd::kAccepted);
  EXPECT_EQ(warned.why, "u says: use zstd");
}

TEST(OtlpTarget, AnswersAreDroppedOrTriedAgain) {
  const Sent other = otlp_answer(served(200, "<html>"), "u", 4);
  EXPECT_EQ(other.end, SentEnd::kLater) << "another server; nothing is lost";
  EXPECT_NE(other.why.find("not as OTLP over HTTP has it"), std::string::npos);
  for (const int status : {400, 413, 415, 422, 500, 501})
    EXPECT_EQ(otlp_answer(served(status), "u", 4).end, SentEnd::kRefused) << status;
  for (const int status : {301, 401, 403, 404, 405, 408, 429, 502, 503, 504})
    EXPECT_EQ(otlp_answer(served(status), "u", 4).end, SentEnd::kLater) << status;
  std::string status;
  protozero::pbf_writer(status).add_string(2, "bad index");
  EXPECT_EQ(otlp_answer(served(400, status), "u", 4).why, "u: status 400: bad index");
  EXPECT_NE(otlp_answer(served(401), "u", 4).why.find("--token-file"), std::string::npos);
  EXPECT_NE(otlp_answer(served(404), "u", 4).why.find("service.profilesSupport"), std::string::npos);
  HttpAnswer slow = served(503);
  slow.retry_after_seconds = 7;
  EXPECT_EQ(otlp_answer(slow, "u", 4).wait_seconds, 7);
  HttpAnswer gone;
  gone.error = "refused";
  EXPECT_EQ(otlp_answer(gone, "u", 4).why, "u: refused");
  EXPECT_FALSE(otlp_answer(gone, "u", 4).may_be_there);
}

TEST(OtlpTarget, ThePathIsTheUsualOneOrTheGivenOne) {
  EXPECT_TRUE(is_otlp_url("otlp+http://a"));
  EXPECT_TRUE(is_otlp_url("otlp+https://a"));
  EXPECT_FALSE(is_otlp_url("http://a"));
  if (!why_no_http().empty()) GTEST_SKIP() << why_no_http();
  EXPECT_EQ(make_otlp_target("otlp+http://host:4318/", {})->name(),
            "otlp+http://host:4318/v1development/profiles");
  EXPECT_EQ(make_otlp_target("otlp+https://host/otlp/profiles", {})->name(),
            "otlp+https://host/otlp/profiles");
  EXPECT_THROW(make_otlp_target("otlp+http://:4318", {}), Failure);
}

TEST(OtlpTarget, WhatIsDamagedOrEmptyIsNotSent) {
  if (!why_no_http().empty()) GTEST_SKIP() << why_no_http();
  const auto target = make_otlp_target("otlp+http://127.0.0.1:1", {});
  Look look = look_of(0);
  EXPECT_EQ(target->send(look, true).end, SentEnd::kAccepted);
  look.pprof = "no profile";
  EXPECT_EQ(target->send(look, true).end, SentEnd::kRefused);
  EXPECT_EQ(target->send(look_of(5), true).end, SentEnd::kLater);
}

}  // namespace
}  // namespace memprof::cli
