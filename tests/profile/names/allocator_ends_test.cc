// SPDX-License-Identifier: Apache-2.0
#include "profile/names/allocator_ends.h"

#include <gtest/gtest.h>

#include "profile/names/frame_grouping.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using report_fixture::row;

size_t end_of_last(Builder& b) {
  return AllocatorEnds(b.profile()).of(b.profile().stacks.back());
}

TEST(AllocatorEnds, WhatAKnownWrapperCallsInItsModuleIsOfIt) {
  Builder b;
  const uint32_t main = b.at("main");
  b.module("libtcl8.6.so");
  const uint32_t malloc = b.at("malloc");
  const uint32_t pieces = b.at("");
  const uint32_t blocks = b.at("GetBlocks");
  const uint32_t wrapper = b.at("TclpAlloc");
  const uint32_t outer = b.at("Tcl_Alloc");
  const uint32_t caller = b.at("TclNewObj");
  b.stack({malloc, pieces, blocks, wrapper, outer, caller, main}, 64, 1);
  EXPECT_EQ(end_of_last(b), 5u);
  b.stack({malloc, wrapper, outer, caller, main}, 64, 1);
  EXPECT_EQ(end_of_last(b), 0u) << "as for every wrapper";
  b.stack({malloc, pieces, caller, main}, 64, 1);
  EXPECT_EQ(end_of_last(b), 0u);
  const Report report = build_report(b.profile(), {});
  EXPECT_NE(row(report, "TclNewObj"), nullptr);
  EXPECT_EQ(row(report, "GetBlocks"), nullptr);
}

TEST(AllocatorEnds, WhatIsOfAnotherModuleIsNot) {
  Builder b;
  const uint32_t hook = b.at("server_hook");
  const uint32_t main = b.at("main");
  b.module("libtcl8.6.so");
  const uint32_t wrapper = b.at("TclpAlloc");
  b.stack({hook, wrapper, main}, 64, 1);
  EXPECT_EQ(end_of_last(b), 0u);
}

TEST(AllocatorEnds, ALongWayInsideIsMoreThanAllocation) {
  Builder b;
  const uint32_t f[] = {b.at("a"), b.at("b"), b.at("c"), b.at("d"), b.at("e")};
  static_assert(AllocatorEnds::kMaxInside == 4);
  const uint32_t wrapper = b.at("xmalloc");
  const uint32_t main = b.at("main");
  b.stack({f[0], f[1], f[2], f[3], wrapper, main}, 64, 1);
  EXPECT_EQ(end_of_last(b), 5u);
  b.stack({f[0], f[1], f[2], f[3], f[4], wrapper, main}, 64, 1);
  EXPECT_EQ(end_of_last(b), 0u);
}

// `main` is the caller of a wrapper that was inlined into it, and stays.
TEST(AllocatorEnds, AWrapperThatIsInlinedEndsWithItsCaller) {
  Builder b;
  const uint32_t pieces = b.at("pieces");
  const uint32_t place = b.at("xmalloc");
  const uint32_t main = b.at("main");
  auto& lines = b.profile().locations[place].lines;
  lines.push_back(b.profile().locations[main].lines.front());
  b.stack({pieces, place}, 64, 1);
  EXPECT_EQ(end_of_last(b), 0u);
}

TEST(AllocatorEnds, NotAcrossCodeOfARuntime) {
  Builder b;
  const uint32_t leaf = b.at("leaf");
  const uint32_t line = b.python("f", "f.py", 3);
  const uint32_t wrapper = b.at("xmalloc");
  b.stack({leaf, line, wrapper}, 64, 1);
  EXPECT_EQ(end_of_last(b), 0u);
}

}  // namespace
}  // namespace memprof::profile
