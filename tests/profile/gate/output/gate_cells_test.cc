// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/output/gate_cells.h"

#include <gtest/gtest.h>

#include "tests/profile/gate/gate_fixture.h"

namespace memprof::profile {
namespace {

TEST(GateCells, SayWhatIsLimited) {
  const GateReport report = gate_fixture::mixed();
  const auto& results = report.checks[0].results;
  EXPECT_EQ(limit_title(results[0]), "peak at most 1 MB");
  EXPECT_EQ(limit_title(results[2]), "site x|y: live at most 1 MB");
  GateResult row = results[0];
  row.kind = ScopeKind::kRow;
  row.scope = "any module";
  EXPECT_EQ(limit_title(row), "any module: peak at most 1 MB");
  row.kind = ScopeKind::kWhole;
  row.key = "growth > 5MB";
  row.max = "";
  EXPECT_EQ(limit_title(row), "growth > 5MB");
  EXPECT_EQ(site_text(results[1], results[1].sites[0]), "94.3 KiB  remember<int> (src/loop.cc:6)");
}

TEST(GateCells, SayHowItEnded) {
  EXPECT_EQ(status_text(3), "exit status 3");
  EXPECT_EQ(status_text(137), "exit status 137 (signal 9)");
  const GateReport report = gate_fixture::mixed();
  EXPECT_EQ(check_title(report, report.checks[0]), "loop");
  EXPECT_EQ(check_title(report, report.checks[1]), "memprof.toml");
  EXPECT_EQ(summary_text(report), "1 limit holds, 2 failed, 2 without a verdict");
  EXPECT_EQ(summary_text(gate_fixture::good()), "1 limit holds");
}

}  // namespace
}  // namespace memprof::profile
