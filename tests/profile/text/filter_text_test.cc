// SPDX-License-Identifier: Apache-2.0
#include "profile/text/filter_text.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(FilterText, SaysWhatIsLeft) {
  EXPECT_EQ(filter_sentence({"a\x1b", {}, {}}), "Only stacks with a frame that matches 'a?'");
  EXPECT_EQ(filter_sentence({"a", "b", {}}),
            "Only stacks with a frame that matches 'a', and without a frame that matches 'b'");
  EXPECT_EQ(filter_sentence({{}, {}, "cc1"}), "Only stacks of a process that matches 'cc1'");
  EXPECT_EQ(filter_sentence({{}, "b", "cc1"}),
            "Only stacks of a process that matches 'cc1', without a frame that matches 'b'");
}

}  // namespace
}  // namespace memprof::profile
