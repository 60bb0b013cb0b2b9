// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/output/gate_json.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profile/text/markup/json_text.h"
#include "tests/profile/gate/gate_fixture.h"

namespace memprof::profile {
namespace {

TEST(GateJson, HasWhatTheTextHas) {
  const auto json = json_from_text(gate_json(gate_fixture::mixed()));
  EXPECT_EQ(json["file"], "memprof.toml");
  EXPECT_EQ(json["status"], 1);
  EXPECT_EQ(json["passed"], 1);
  EXPECT_EQ(json["failed"], 2);
  EXPECT_EQ(json["without_verdict"], 2);
  ASSERT_EQ(json["checks"].size(), 2u);
  const auto& loop = json["checks"][0];
  EXPECT_EQ(loop["exit_status"], 0);
  EXPECT_TRUE(loop["error"].is_null());
  EXPECT_EQ(loop["profiles"][0], "kept/loop.pb.gz");
  const auto& fail = loop["limits"][1];
  EXPECT_EQ(fail["verdict"], "fail");
  EXPECT_EQ(fail["scope"], "whole");
  EXPECT_EQ(fail["limit"], "growth_per_iteration");
  EXPECT_EQ(fail["estimate"]["value"], 966.5);
  EXPECT_EQ(fail["estimate"]["low"], 960);
  EXPECT_EQ(fail["sites"][0]["line"], 6);
  EXPECT_EQ(fail["sites"][0]["value"], 96596);
  EXPECT_TRUE(loop["limits"][0]["estimate"].is_null());
  EXPECT_EQ(loop["limits"][2]["scope"], "site");
  EXPECT_EQ(loop["limits"][2]["name"], "x|y");
  EXPECT_EQ(json["checks"][1]["error"], "nothing was recorded");
}

TEST(GateJson, WithoutAnIntervalThereAreNoEnds) {
  GateReport report = gate_fixture::good();
  report.checks[0].results[0].estimate = Estimate{5.4, 5.4, 5.4, false};
  const auto limit = json_from_text(gate_json(report))["checks"][0]["limits"][0];
  EXPECT_EQ(limit["estimate"]["value"], 5);
  EXPECT_TRUE(limit["estimate"]["high"].is_null());
}

}  // namespace
}  // namespace memprof::profile
