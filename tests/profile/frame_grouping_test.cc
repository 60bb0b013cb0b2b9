// SPDX-License-Identifier: Apache-2.0
#include "profile/frame_grouping.h"

#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;

// Groups of the profile's stacks, leaf first.
std::string groups_of(Builder& b, GroupBy by, bool show_interpreter = false) {
  FrameGrouping grouping(b.profile(), by, show_interpreter);
  std::vector<GroupedFrame> frames;
  std::string text;
  for (const Stack& stack : b.profile().stacks) {
    grouping.frames_of(stack, &frames);
    for (const GroupedFrame& frame : frames) text += grouping.groups()[frame.group].name + " ";
    text += "| ";
  }
  return text;
}

TEST(FrameGrouping, TheAllocatorsFramesAtTheLeafAreLeftOut) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t malloc = b.at("malloc");
  b.stack({malloc, malloc, main}, 1, 1)
      .stack({main, malloc, main}, 1, 1)
      .stack({malloc}, 1, 1)
      .stack({}, 1, 1);
  EXPECT_EQ(groups_of(b, GroupBy::kFunction), "main | main malloc main | malloc | [unknown] | ");
}

TEST(FrameGrouping, TheInterpretersOwnFunctionsAreLeftOutAmongPythonFrames) {
  Builder b;
  const uint32_t thread = b.at("start_thread");
  b.module("libpython3.12.so.1.0");
  const uint32_t list = b.at("PyList_New");
  const uint32_t call = b.at("_PyObject_Call");
  b.module("_numpy.so");
  const uint32_t empty = b.at("array_empty");
  const uint32_t f = b.python("f", "f.py", 3);
  const uint32_t main = b.python("main", "m.py", 9);
  b.stack({list, f, call, main, call, thread}, 1, 1)
      .stack({list, empty, call, f}, 1, 1)
      .stack({list, call, thread}, 1, 1);
  EXPECT_EQ(groups_of(b, GroupBy::kFunction),
            "f main start_thread | array_empty f | PyList_New _PyObject_Call start_thread | ");
  EXPECT_EQ(groups_of(b, GroupBy::kFunction, true),
            "PyList_New f _PyObject_Call main _PyObject_Call start_thread | PyList_New array_empty "
            "_PyObject_Call f | "
            "PyList_New _PyObject_Call start_thread | ");
  EXPECT_EQ(
      groups_of(b, GroupBy::kModule),
      "[Python] [Python] server | _numpy.so [Python] | libpython3.12.so.1.0 libpython3.12.so.1.0 server | ");
}

TEST(FrameGrouping, InlinedCallersAreFramesInnermostFirst) {
  Builder b;
  const uint32_t outer = b.at("outer", "/src/o.cc", 7);
  const uint32_t middle = b.at("middle", "/src/m.h", 5);
  const uint32_t place = b.at("inner", "/src/i.h", 3);
  for (const uint32_t caller : {middle, outer}) {
    b.profile().locations[place].lines.push_back(b.profile().locations[caller].lines[0]);
  }
  b.stack({place}, 1, 1);
  EXPECT_EQ(groups_of(b, GroupBy::kFunction), "inner middle outer | ");
  EXPECT_EQ(groups_of(b, GroupBy::kFile), "/src/i.h /src/m.h /src/o.cc | ");
  EXPECT_EQ(groups_of(b, GroupBy::kModule), "server server server | ");
}

TEST(FrameGrouping, AllocatorFunctionsThatWereInlinedAreLeftOutToo) {
  Builder b;
  const uint32_t caller = b.at("grow");
  const uint32_t place = b.at("operator new(unsigned long)");
  b.profile().locations[place].lines.push_back(b.profile().locations[caller].lines[0]);
  b.stack({place}, 1, 1);
  EXPECT_EQ(groups_of(b, GroupBy::kFunction), "grow | ");
}

TEST(FrameGrouping, FunctionsAreKnownWhateverIsGroupedBy) {
  Builder b;
  b.stack({b.at("f"), b.at("main")}, 1, 1);
  FrameGrouping grouping(b.profile(), GroupBy::kModule);
  std::vector<GroupedFrame> frames;
  grouping.frames_of(b.profile().stacks[0], &frames);
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].group, frames[1].group);
  EXPECT_EQ(grouping.functions()[frames[0].function], "f");
  EXPECT_EQ(grouping.functions()[frames[1].function], "main");
}

TEST(FrameGrouping, NamesOfGroups) {
  EXPECT_EQ(group_by_from_name("file"), GroupBy::kFile);
  EXPECT_EQ(group_by_from_name("files"), std::nullopt);
  EXPECT_STREQ(group_by_name(GroupBy::kModule), "module");
}

TEST(FrameGrouping, AMadeUpGroupIsMadeOnce) {
  Builder b;
  FrameGrouping grouping(b.profile(), GroupBy::kFunction);
  EXPECT_EQ(grouping.made_up_group("[root]"), grouping.made_up_group("[root]"));
  EXPECT_EQ(grouping.groups().size(), 1u);
}

TEST(FrameGrouping, ByHeapAllFramesOfAStackAreItsHeap) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t f = b.at("f");
  b.stack({f, main}, 1, 1).stack({f, main}, 1, 1).stack({}, 1, 1);
  b.profile().stacks[1].heap = "pool:a";
  EXPECT_EQ(groups_of(b, GroupBy::kHeap), "[default] [default] | pool:a pool:a | [default] | ");
  EXPECT_EQ(groups_of(b, GroupBy::kFunction), "f main | f main | [unknown] | ");
  EXPECT_EQ(group_by_from_name("heap"), GroupBy::kHeap);
}

}  // namespace
}  // namespace memprof::profile
