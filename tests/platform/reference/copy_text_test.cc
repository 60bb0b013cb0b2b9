// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "platform/memory.h"

namespace memprof::reference_copy_text_test {
namespace {

// tests/platform/linux/memory/copy_text_test.cc has what is read of memory that is there, and of memory that is not.
TEST(ReferenceCopyText, WithoutAWayToReadMemoryNoTextIsCopied) {
  char copy[8] = "x";
  EXPECT_FALSE(platform::copy_text("abc", copy, sizeof(copy)));
}

TEST(ReferenceCopyText, NothingIsWrittenBehindTheRoomThatThereIs) {
  char copy[2] = {'x', 'y'};
  EXPECT_TRUE(platform::copy_text("abc", copy, 0));
  EXPECT_EQ('x', copy[0]);
  EXPECT_TRUE(platform::copy_text("abc", copy, 1));
  EXPECT_EQ('\0', copy[0]);
  EXPECT_EQ('y', copy[1]);
}

}  // namespace
}  // namespace memprof::reference_copy_text_test
