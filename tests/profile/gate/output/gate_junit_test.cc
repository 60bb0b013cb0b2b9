// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/output/gate_junit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/gate/gate_fixture.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;

TEST(GateJunit, ChecksAreSuitesAndLimitsCases) {
  const std::string text = gate_junit(gate_fixture::mixed());
  EXPECT_THAT(text,
              HasSubstr("<testsuite name=\"memprof check: loop\" tests=\"4\" failures=\"1\" errors=\"1\""));
  EXPECT_THAT(text, HasSubstr("<testcase classname=\"memprof.check.loop\" name=\"peak at most 1 MB\"/>"));
  EXPECT_THAT(text, HasSubstr("<failure message=\"966 B an iteration\">94.3 KiB  remember&lt;int&gt; "
                              "(src/loop.cc:6)\n12 B  f\n</failure>"));
  EXPECT_THAT(text, HasSubstr("<error message=\"no stack matches 'x|y'\"/>"));
  EXPECT_THAT(text,
              HasSubstr("name=\"memprof check: memprof.toml\" tests=\"2\" failures=\"1\" errors=\"1\""));
  EXPECT_THAT(text, HasSubstr("<failure message=\"exit status 137 (signal 9)\"/>"));
}

}  // namespace
}  // namespace memprof::profile
