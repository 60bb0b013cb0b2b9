// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/other_user.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(OtherUser, RootIsNotToldToBecomeRoot) {
  EXPECT_EQ(how_to_look(false), "try as its user, or as root");
  EXPECT_THAT(how_to_look(true), Not(HasSubstr("as root")));
  EXPECT_THAT(how_to_look(true), HasSubstr("SYS_PTRACE"));
}

}  // namespace
}  // namespace memprof::cli
