// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/written_fields.h"

#include <gtest/gtest.h>

#include <string>

#include "format/pprof/comments.h"
#include "profile/pprof/pprof_statistics.h"
#include "tests/profile/pprof/many_statistics.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

std::string comment_of(uint64_t id, const StackStatistics& statistics) {
  CommentText text;
  stack_comment(text, id, statistics);
  return {text.data(), text.size()};
}

TEST(WrittenFields, NumbersInTheirOrder) {
  WrittenFields fields(
      " id=00000000000000ff n=1844674407370955161 x=bff8000000000000 y=0 z=3ff8000000000000");
  EXPECT_EQ(255u, fields.hex("id"));
  EXPECT_EQ(1844674407370955161u, fields.decimal("n"));
  EXPECT_TRUE(fields.has("x"));
  EXPECT_FALSE(fields.has("y"));
  EXPECT_EQ(-1.5, fields.signed_real("x"));
  EXPECT_EQ(0.0, fields.real("y"));
  EXPECT_FALSE(fields.is_at_end());
  EXPECT_EQ(1.5, fields.real("z"));
  EXPECT_TRUE(fields.ok());
  EXPECT_TRUE(fields.is_at_end());
}

TEST(WrittenFields, WhatIsWrittenInAnotherWayIsNoticed) {
  const auto is_good = [](std::string_view text, const auto& read) {
    WrittenFields fields(text);
    read(fields);
    return fields.ok() && fields.is_at_end();
  };
  const auto decimal = [](WrittenFields& f) { f.decimal("n"); };
  EXPECT_TRUE(is_good(" n=9999999999999999999", decimal));
  for (const char* other : {"", " ", " n", " n=", " n=-1", " n=1x", " n=18446744073709551615", " m=1", "n=1",
                            "  n=1", " n=1 ", " nn=1"}) {
    EXPECT_FALSE(is_good(other, decimal)) << other;
  }
  const auto real = [](WrittenFields& f) { f.real("x"); };
  EXPECT_TRUE(is_good(" x=0", real));
  EXPECT_TRUE(is_good(" x=3ff8000000000000", real));
  for (const char* other : {" x=", " x=00", " x=1", " x=bff8000000000000", " x=7ff0000000000000",
                            " x=3FF8000000000000", " x=3ff800000000000g", " x=3ff80000000000000"}) {
    EXPECT_FALSE(is_good(other, real)) << other;
  }
}

// Two blanks are read by name, and say the same.
TEST(WrittenFields, CommentsSayWhatTheirFieldsSay) {
  for (const IdentifiedStatistics& stack : many(2000)) {
    const std::string text = comment_of(stack.id, stack.statistics);
    WrittenFields fields(std::string_view(text).substr(sizeof(kStackComment) - 1));
    EXPECT_EQ(stack.id, fields.hex("id"));
    EXPECT_TRUE(fields.ok());
    std::string apart = text;
    apart.insert(apart.find(' '), " ");
    const auto written = statistics_from_comment(text);
    const auto named = statistics_from_comment(apart);
    ASSERT_TRUE(written && named) << text;
    EXPECT_EQ(named->id, written->id);
    EXPECT_EQ(text, comment_of(written->id, written->statistics));
    EXPECT_EQ(comment_of(named->id, named->statistics), comment_of(written->id, written->statistics));
  }
}

}  // namespace
}  // namespace memprof::profile
