// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/targets/pyroscope_target.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "memprof/console/failure.h"
#include "profile/text/markup/json_text.h"

namespace memprof::cli {
namespace {

HttpAnswer answer_of(int status, const std::string& body = "") {
  HttpAnswer answer;
  answer.status = status;
  answer.body = body;
  answer.was_sent = true;
  return answer;
}

TEST(PyroscopeTarget, ARequestHasLabelsAndTheProfile) {
  Look look;
  look.sequence = 9;
  look.labels = {{"service_name", "web \"a\""}};
  look.pprof = "abc";
  const auto body = profile::json_from_text(pyroscope_body(look, "id"));
  const auto& series = body.at("series").at(0);
  EXPECT_EQ(series.at("labels").dump(),
            R"([{"name":"__name__","value":"memory"},{"name":"__delta__","value":"false"},)"
            R"({"name":"service_name","value":"web \"a\""}])");
  EXPECT_EQ(series.at("samples").dump(), R"([{"ID":"id-9","rawProfile":"YWJj"}])");
}

TEST(PyroscopeTarget, AnswersAreTakenDroppedOrTriedAgain) {
  using End = Sent::End;
  EXPECT_EQ(pyroscope_answer(answer_of(200, "{}"), "u").end, End::kAccepted);
  const Sent other = pyroscope_answer(answer_of(200, "<html>"), "u");
  EXPECT_EQ(other.end, End::kLater) << "another server; nothing is lost";
  EXPECT_NE(other.why.find("not as Pyroscope does"), std::string::npos);
  for (const int status : {400, 413, 422})
    EXPECT_EQ(pyroscope_answer(answer_of(status), "u").end, End::kRefused);
  for (const int status : {302, 401, 403, 404, 405, 408, 429, 500, 502, 503, 504}) {
    EXPECT_EQ(pyroscope_answer(answer_of(status), "u").end, End::kLater) << status;
  }
  EXPECT_NE(pyroscope_answer(answer_of(401), "u").why.find("--token-file"), std::string::npos);
  EXPECT_EQ(pyroscope_answer(answer_of(400, R"({"code":"x","message":"no labels"})"), "u").why,
            "u: status 400: no labels");
  HttpAnswer slow = answer_of(429);
  slow.retry_after_seconds = 7;
  EXPECT_EQ(pyroscope_answer(slow, "u").wait_seconds, 7);
  HttpAnswer none;
  none.error = "refused";
  EXPECT_EQ(pyroscope_answer(none, "u").end, End::kLater);
  EXPECT_FALSE(pyroscope_answer(none, "u").may_be_there);
  none.was_sent = true;
  EXPECT_TRUE(pyroscope_answer(none, "u").may_be_there);
}

TEST(PyroscopeTarget, IsCalledAsItsURL) {
  EXPECT_TRUE(is_pyroscope_url("https://a"));
  EXPECT_FALSE(is_pyroscope_url("otlp+http://a"));
  if (!why_no_http().empty()) GTEST_SKIP() << why_no_http();
  EXPECT_EQ(make_pyroscope_target("http://host:4040//", {})->name(), "http://host:4040");
  EXPECT_THROW(make_pyroscope_target("http://", {}), Failure);
}

}  // namespace
}  // namespace memprof::cli
