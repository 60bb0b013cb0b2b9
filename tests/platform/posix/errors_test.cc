// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>

#include "platform/files.h"

namespace memprof::errors_test {
namespace {

TEST(Errors, EveryErrorHasAText) {
  for (int error = 0; error < 140; ++error) {
    ASSERT_NE(nullptr, platform::error_text(-error));
    EXPECT_GT(strlen(platform::error_text(-error)), 5u);
  }
  EXPECT_STREQ("no space left", platform::error_text(-ENOSPC));
  EXPECT_STRNE(platform::error_text(-EACCES), platform::error_text(-ENOENT));
  platform::set_last_error(-EROFS);
  EXPECT_EQ(EROFS, errno);
}

}  // namespace
}  // namespace memprof::errors_test
