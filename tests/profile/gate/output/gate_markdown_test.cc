// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/output/gate_markdown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/gate/gate_fixture.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;

TEST(GateMarkdown, HasATableForEachCheck) {
  const std::string text = gate_markdown(gate_fixture::mixed());
  EXPECT_THAT(text, HasSubstr("### Memory: 1 limit holds, 2 failed, 2 without a verdict\n"));
  EXPECT_THAT(text, HasSubstr("#### loop\n\n`./loop {n}, n = 10 and 110`\n"));
  EXPECT_THAT(text, HasSubstr("| pass | `peak at most 1 MB` | 0.5 MiB |\n"));
  EXPECT_THAT(text, HasSubstr("| **FAIL** | `growth_per_iteration at most 1 MB` |"));
  EXPECT_THAT(text,
              HasSubstr("| **no verdict** | `site x\\|y: live at most 1 MB` | no stack matches 'x\\|y' |"));
  EXPECT_THAT(text, HasSubstr("- 94.3 KiB `remember<int>` src/loop.cc:6\n- 12 B `f`\n"));
  EXPECT_THAT(text, HasSubstr("- warning: the run"));
  EXPECT_THAT(text, HasSubstr("- **FAIL** the program failed: exit status 137 (signal 9)\n"));
  EXPECT_THAT(text, HasSubstr("- **no verdict** nothing was recorded\n"));
}

}  // namespace
}  // namespace memprof::profile
