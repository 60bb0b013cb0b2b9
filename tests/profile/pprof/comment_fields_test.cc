// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/comment_fields.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace memprof::profile {
namespace {

TEST(CommentFields, NumbersAndTexts) {
  CommentFields fields(" pid=42 id=ff wb=3ff8000000000000 neg=bff8000000000000 program=a%20b%zz");
  EXPECT_EQ(42u, fields.decimal("pid"));
  EXPECT_EQ(255u, fields.hex("id"));
  EXPECT_EQ(1.5, fields.real("wb"));
  EXPECT_EQ(-1.5, fields.signed_real("neg"));
  EXPECT_EQ("a b%zz", fields.text("program"));
  EXPECT_EQ("", fields.text("nothing"));
  EXPECT_EQ(0u, fields.decimal_or_0("nothing"));
  EXPECT_TRUE(fields.has("id"));
  EXPECT_FALSE(fields.has("nothing"));
  EXPECT_TRUE(fields.ok());
}

TEST(CommentFields, WhatIsMissingOrMalformedIsNoticed) {
  const auto is_good = [](std::string_view text, const auto& read) {
    CommentFields fields(text);
    read(fields);
    return fields.ok();
  };
  const auto decimal = [](CommentFields& f) { f.decimal("n"); };
  EXPECT_TRUE(is_good("n=18446744073709551615", decimal));
  for (const char* bad : {"", "n", "n=", "n=-1", "n=1x", "n=18446744073709551616", "m=1"}) {
    EXPECT_FALSE(is_good(bad, decimal)) << bad;
  }
  const auto real = [](CommentFields& f) { f.real("x"); };
  EXPECT_TRUE(is_good("x=0", real));
  for (const char* bad : {"x=bff8000000000000", "x=7ff0000000000000", "x=7ff8000000000000", "x=g"}) {
    EXPECT_FALSE(is_good(bad, real)) << bad;
  }
}

TEST(CommentFields, ListsAreAscending) {
  CommentFields good("lt=0:1:16,3:2:32:42000000:40400000 lb=1:1:42000000:40400000");
  const auto lifetimes = good.lifetimes("lt");
  ASSERT_EQ(2u, lifetimes.size());
  EXPECT_EQ(16.0, lifetimes[0].weight_bytes);
  EXPECT_EQ(1.0, lifetimes[0].weight_count);
  EXPECT_EQ(3u, lifetimes[1].lifetime_class);
  EXPECT_EQ(32.0, lifetimes[1].weight_bytes);
  EXPECT_EQ(3.0, lifetimes[1].weight_count);
  ASSERT_EQ(1u, good.births("lb").size());
  EXPECT_TRUE(good.lifetimes("nothing").empty());
  EXPECT_TRUE(good.ok());
  for (const char* bad :
       {"lt=3:1:16,0:1:16", "lt=0:1", "lt=0:0:16", "lt=0:1:16:3f800000", "lt=,", "lt=0:1:16:x:0"}) {
    CommentFields fields(bad);
    fields.lifetimes("lt");
    EXPECT_FALSE(fields.ok()) << bad;
  }
}

TEST(CommentFields, RatesThatAreWrongAreLeftOut) {
  const CommentFields fields("used=4096:10:20,x:1:2,8192:30:40");
  const auto rates = fields.rates("used");
  ASSERT_EQ(2u, rates.size());
  EXPECT_EQ(4096u, rates[0].rate_bytes);
  EXPECT_EQ(40u, rates[1].time_ns);
}

TEST(CommentFields, load_has_17_times_in_order) {
  std::string times;
  for (int i = 0; i <= 16; ++i) times += (i == 0 ? "" : ",") + std::to_string(100 * i);
  const LoadTimes load = CommentFields("bytes=7 at=" + times).load();
  EXPECT_EQ(load.bytes, 7U);
  EXPECT_EQ(load.at_ns[3], 300U);
  EXPECT_EQ(load.end_ns(), 1600U);
  const std::vector<std::string> damaged = {"bytes=7 at=" + times + ",1700", "bytes=7 at=1,2,3",
                                            "bytes=7 at=9," + times,         "at=" + times,
                                            "bytes=x at=" + times,           "bytes=7"};
  for (const std::string& wrong : damaged) {
    EXPECT_FALSE(CommentFields(wrong).load().is_known()) << wrong;
  }
}

}  // namespace
}  // namespace memprof::profile
