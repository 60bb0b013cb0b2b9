// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/process_number.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

TEST(ProcessNumber, IsANumberThatAProcessCanHave) {
  uint64_t pid = 0;
  EXPECT_TRUE(parse_pid("12", &pid));
  EXPECT_EQ(pid, 12u);
  for (const char* text : {"", "0", "-1", "1x", " 1", "99999999999999999999"}) {
    EXPECT_FALSE(parse_pid(text, &pid)) << text;
  }
}

}  // namespace
}  // namespace memprof::cli
