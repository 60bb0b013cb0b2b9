// SPDX-License-Identifier: Apache-2.0
#include "profile/matching/hidden_frames.h"

#include <gtest/gtest.h>

#include "profile/view/profile_view.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using report_fixture::self;

ReportOptions without(const char* expression) {
  ReportOptions options;
  options.view.hidden = hidden_frames(Pattern(expression));
  return options;
}

TEST(HiddenFrames, WhatTheyAllocateCountsAsTheirCallers) {
  Builder b;
  const uint32_t leaf = b.at("grab", "/src/grab.c", 3);
  const uint32_t main = b.at("main", "/src/main.c", 9);
  b.stack({leaf, b.at("load", "/src/load.c", 5), main}, 1000, 4)
      .stack({leaf, b.at("parse", "/src/parse.c", 6), main}, 1000, 2)
      .stack({leaf}, 1000, 1);
  for (const char* expression : {"^grab$", "grab\\.c"}) {
    const Report report = build_report(b.profile(), without(expression));
    EXPECT_EQ(self(report, "grab"), -1) << expression;
    EXPECT_EQ(self(report, "load"), 4000) << expression;
    EXPECT_EQ(self(report, "parse"), 2000) << expression;
    EXPECT_EQ(self(report, "[hidden]"), 1000) << expression;
    EXPECT_EQ(report.hidden, expression);
  }
  EXPECT_EQ(self(build_report(b.profile(), without("nothing")), "grab"), 7000);
}

TEST(HiddenFrames, ModulesMatchAndInlinedFunctionsGoAlone) {
  Builder b;
  const uint32_t outer = b.at("outer", "/src/o.cc", 7);
  const uint32_t place = b.at("inner", "/src/i.h", 3);
  b.profile().locations[place].lines.push_back(b.profile().locations[outer].lines[0]);
  b.module("libpool.so");
  const uint32_t pool = b.at("take");
  b.stack({pool, place}, 1000, 1);
  EXPECT_EQ(self(build_report(b.profile(), without("libpool")), "inner"), 1000);
  EXPECT_EQ(self(build_report(b.profile(), without("libpool|inner")), "outer"), 1000);
}

TEST(HiddenFrames, FilesAreWrittenWithoutThem) {
  for (const bool all : {false, true}) {
    Builder b;
    const uint32_t outer = b.at("outer", "/src/o.cc", 7);
    const uint32_t place = b.at("inner", "/src/i.h", 3);
    b.profile().locations[place].lines.push_back(b.profile().locations[outer].lines[0]);
    const uint32_t leaf = b.at("grab");
    b.stack({leaf, place, b.at("main")}, 1000, 1).stack({leaf}, 500, 1);
    ViewRequest request;
    request.view.all = all;
    request.view.hidden = hidden_frames(Pattern("grab|inner"));
    const Profile seen = view_of(b.profile(), request);
    ASSERT_EQ(seen.stacks.size(), 2u);
    EXPECT_EQ(seen.stacks[0].locations.size(), 2u);
    const Location& first = seen.locations[seen.stacks[0].locations[0]];
    ASSERT_EQ(first.lines.size(), 1u);
    EXPECT_EQ(seen.functions[first.lines[0].function].name, "outer");
    EXPECT_EQ(seen.stacks[0].allocated.size_bytes + seen.stacks[1].allocated.size_bytes, 1500u);
  }
}

}  // namespace
}  // namespace memprof::profile
