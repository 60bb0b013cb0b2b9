// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/spool/target_state.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(TargetState, KeepsHowFarItIs) {
  const testing_tools::Folder folder;
  {
    TargetState state(folder / "a", "http://a", 7);
    EXPECT_EQ(state.done(), 7U);
    state.begin(8);
    state.counts.accepted = 3;
    state.counts.refused_bytes = -1;
    state.finish(8);
    state.begin(9);
  }
  TargetState state(folder / "a", "http://a", 0);
  EXPECT_EQ(state.done(), 8U);
  EXPECT_EQ(state.counts.accepted, 3U);
  EXPECT_EQ(state.counts.refused_bytes, -1);
  EXPECT_TRUE(state.may_be_there(9)) << "nobody knows what became of it";
  EXPECT_FALSE(state.may_be_there(10));
  state.take_back();
  EXPECT_FALSE(TargetState(folder / "a", "http://a", 0).may_be_there(9));
}

// Files of before looks could be taken in part.
TEST(TargetState, ReadsThoseOfOlderShippers) {
  const testing_tools::Folder folder;
  {
    TargetState state(folder / "a", "http://a", 7);
    state.counts.partly = 2;
    state.counts.partly_bytes = 100;
    state.counts.rejected_profiles = 3;
    state.finish(8);
  }
  EXPECT_EQ(TargetState(folder / "a", "http://a", 0).counts.partly_bytes, 100);
  std::string text = testing_tools::read_file(folder / "a");
  text.replace(text.find(",\"partly\""), text.find('}') - text.find(",\"partly\""), "");
  testing_tools::write_file(folder / "a", text);
  TargetState older(folder / "a", "http://a", 0);
  EXPECT_EQ(older.done(), 8U);
  EXPECT_EQ(older.counts.partly, 0U);
  EXPECT_EQ(older.counts.rejected_profiles, 0U);
}

TEST(TargetState, WhatIsNoneIsNamed) {
  const testing_tools::Folder folder;
  for (const char* text : {"{\"version\":2}", "{}", "no JSON", "[]"}) {
    testing_tools::write_file(folder / "a", text);
    EXPECT_THROW(TargetState(folder / "a", "http://a", 0), Failure) << text;
  }
}

}  // namespace
}  // namespace memprof::cli
