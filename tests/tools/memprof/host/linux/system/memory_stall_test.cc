// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/system/memory_stall.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/support/folder.h"

namespace memprof::cli {
namespace {

class MemoryStallFile : public ::testing::Test {
 protected:
  std::optional<MemoryStall> read(const std::string& text) const {
    return read_memory_stall(folder_.write("memory.pressure", text), false);
  }
  const testing_support::TemporaryFolder folder_;
};

TEST_F(MemoryStallFile, HasBothShares) {
  const auto stall = read(
      "some avg10=12.34 avg60=1.00 avg300=0.10 total=6793146\n"
      "full avg10=5.00 avg60=0.00 avg300=0.00 total=3666030\n");
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->some, 12.34);
  EXPECT_EQ(stall->full, 5);
  EXPECT_FALSE(stall->is_of_machine);
}

TEST_F(MemoryStallFile, TheSecondLineMayBeMissing) {
  const auto stall = read("some avg10=100.00 avg60=1.00 avg300=0.10 total=1\n");
  ASSERT_TRUE(stall);
  EXPECT_EQ(stall->some, 100);
  EXPECT_EQ(stall->full, 0);
}

TEST_F(MemoryStallFile, NonsenseIsNotKnown) {
  for (const char* text :
       {"", "some", "some avg10=", "some avg10=x avg60=1", "some avg10=-1 avg60=1", "some avg10=101 avg60=1",
        "some avg10=nan avg60=1", "some avg10=1e300 avg60=1", "some avg10=1.0x avg60=1", "some avg60=1",
        "full avg10=1.00 avg60=1", "\xff\xfe\x01"}) {
    EXPECT_FALSE(read(text)) << text;
  }
  EXPECT_EQ(read("some avg10=1.00 avg60=0\nfull avg10=x\n")->full, 0);
}

TEST_F(MemoryStallFile, WhatCannotBeReadIsNotKnown) {
  EXPECT_FALSE(read_memory_stall(folder_.path("gone"), true));
  EXPECT_FALSE(read_memory_stall(folder_.path(""), true)) << "a folder";
}

}  // namespace
}  // namespace memprof::cli
