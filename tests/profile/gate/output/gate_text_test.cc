// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/output/gate_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/gate/gate_fixture.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;

TEST(GateText, HasEachLimitAndTheSitesOfThoseThatAreExceeded) {
  const std::string text = gate_text(gate_fixture::mixed(), {});
  EXPECT_THAT(text, HasSubstr("loop: ./loop {n}, n = 10 and 110 (exit status 0, rate 64 KiB, 1,234 samples)\n"
                              "  pass  peak at most 1 MB                  0.5 MiB\n"
                              "  FAIL  growth_per_iteration at most 1 MB  966 B an iteration\n"
                              "        94.3 KiB  remember<int> (src/loop.cc:6)\n"
                              "        12 B  f\n"
                              "  ????  site x|y: live at most 1 MB        no stack matches 'x|y'\n"
                              "  warning: the run: 3 samples were dropped\n"
                              "  memprof report kept/loop.pb.gz\n"));
  EXPECT_THAT(text, HasSubstr("memprof.toml: false (exit status 137 (signal 9))\n"
                              "  FAIL  the program failed: exit status 137 (signal 9)\n"
                              "  ????  nothing was recorded\n"
                              "\n1 limit holds, 2 failed, 2 without a verdict\n"));
}

TEST(GateText, SaysThatAllWasRecorded) {
  const GateReport report = gate_fixture::good();
  EXPECT_EQ(check_text(report, report.checks[0], {}),
            "memprof.toml (exit status 0, every allocation recorded, 0 samples)\n"
            "  pass  peak at most 1 MB  0.5 MiB\n");
}

TEST(GateText, NamesSteerNoTerminal) {
  GateReport report = gate_fixture::good();
  report.checks[0].results[0].what = "\x1b[2J";
  report.checks[0].name = "\x07";
  EXPECT_EQ(gate_text(report, {}).find_first_of("\x1b\x07"), std::string::npos);
}

}  // namespace
}  // namespace memprof::profile
