// SPDX-License-Identifier: Apache-2.0
#include "platform/messages.h"

#include <gtest/gtest.h>

namespace memprof::reference_messages_test {
namespace {

TEST(ReferenceMessages, StandardErrorIsNeverDoubted) {
  ::testing::internal::CaptureStderr();
  platform::remember_standard_error();
  platform::doubt_standard_error();
  const char* const parts[] = {"said", nullptr};
  platform::message(parts);
  EXPECT_EQ("memprof: said\n", ::testing::internal::GetCapturedStderr());
}

}  // namespace
}  // namespace memprof::reference_messages_test
