// SPDX-License-Identifier: Apache-2.0
#include "profile/names/forwarders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/names/frame_grouping.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using report_fixture::row;
using report_fixture::self;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

// A leaf with so many callers; `size_of(caller)` is what each of them asks for, `samples` times.
template <typename SizeOf>
Builder many(const std::string& leaf, int callers, SizeOf size_of, uint64_t samples = 6) {
  Builder b;
  const uint32_t place = b.at(leaf);
  const uint32_t main = b.at("main");
  for (int i = 0; i < callers; ++i) {
    b.stack({place, b.at("caller" + std::to_string(i)), main}, size_of(i), samples);
  }
  return b;
}
constexpr auto kOwnSizes = [](int caller) { return uint64_t{100} + 24 * static_cast<uint64_t>(caller); };
constexpr auto kOneSize = [](int) { return uint64_t{64}; };

std::vector<std::string> found(Builder b) {
  return find_forwarders(b.profile()).names();
}

TEST(Forwarders, NamesThatEndLikeAllocationFunctions) {
  for (const char* name :
       {"BigAlloc", "PL_malloc", "monoeg_malloc", "mosquitto__malloc", "ck_calloc", "caml_stat_alloc",
        "__zend_malloc", "alloc", "os::malloc(unsigned long, int)", "my_alloc0", "heap_alloc_zeroed",
        "Heap<int>::Allocate(unsigned long)", "xrealloc2"}) {
    EXPECT_TRUE(sounds_like_allocation(name)) << name;
  }
  for (const char* name : {"new_node", "alloc_image", "allocate_rows", "dealloc", "Allocator::get()", "grab",
                           "parse(Alloc)", "main"}) {
    EXPECT_FALSE(sounds_like_allocation(name)) << name;
  }
}

TEST(Forwarders, OneThatHandsOnTheSizesOfItsCallers) {
  EXPECT_THAT(found(many("AppAlloc", 5, kOwnSizes)), ElementsAre("AppAlloc"));
  EXPECT_THAT(found(many("grab", 16, kOwnSizes)), ElementsAre("grab"));
  EXPECT_THAT(found(many("", 16, kOwnSizes)).size(), 1u);  // a stripped one
}

TEST(Forwarders, OneOfFewCallersOrFewSizesIsNone) {
  EXPECT_THAT(found(many("AppAlloc", 3, kOwnSizes)), IsEmpty());
  EXPECT_THAT(found(many("grab", 11, kOwnSizes)), IsEmpty());
  EXPECT_THAT(found(many("", 15, kOwnSizes)), IsEmpty());
  EXPECT_THAT(found(many("cell_alloc", 40, kOneSize)), IsEmpty());
  EXPECT_THAT(found(many("two_kinds", 40, [](int caller) { return caller % 2 == 0 ? 64u : 512u; })),
              IsEmpty());
}

TEST(Forwarders, OneWhoseSizesAreNotOfItsCallersIsNone) {
  Builder b;
  const uint32_t leaf = b.at("copy_alloc");
  for (int caller = 0; caller < 16; ++caller) {
    const uint32_t from = b.at("caller" + std::to_string(caller));
    for (uint64_t size = 20; size < 30; ++size) b.stack({leaf, from}, size, 1);
  }
  EXPECT_THAT(find_forwarders(b.profile()).names(), IsEmpty());
}

TEST(Forwarders, OneThatMakesTwoBlocksACallIsNone) {
  Builder b;
  const uint32_t entry = b.at("insert");
  const uint32_t value = b.at("insert");
  for (int caller = 0; caller < 16; ++caller) {
    const uint32_t from = b.at("caller" + std::to_string(caller));
    b.stack({entry, from}, 24, 6).stack({value, from}, kOwnSizes(caller), 6);
  }
  EXPECT_THAT(find_forwarders(b.profile()).names(), IsEmpty());
}

TEST(Forwarders, OneThatCallsOthersIsNone) {
  Builder b;
  const uint32_t leaf = b.at("insert");
  const uint32_t rehash = b.at("rehash");
  const uint32_t step = b.at("step");
  const uint32_t more = b.at("more");
  for (int caller = 0; caller < 16; ++caller) {
    const uint32_t from = b.at("caller" + std::to_string(caller));
    b.stack({leaf, from}, kOwnSizes(caller), 6).stack({rehash, step, more, more, leaf, from}, 64, 6);
  }
  EXPECT_THAT(find_forwarders(b.profile()).names(), IsEmpty());
}

TEST(Forwarders, OneThatHoldsLessThanHalfIsNone) {
  Builder b = many("AppAlloc", 5, kOwnSizes);
  b.stack({b.at("load"), b.at("main")}, 1 << 20, 10);
  EXPECT_THAT(find_forwarders(b.profile()).names(), IsEmpty());
}

TEST(Forwarders, TwoBelowEachOtherAreBothFound) {
  Builder b;
  const uint32_t lower = b.at("lower");
  const uint32_t upper = b.at("upper_alloc");
  for (int caller = 0; caller < 16; ++caller) {
    b.stack({lower, upper, b.at("caller" + std::to_string(caller))}, kOwnSizes(caller), 6);
  }
  EXPECT_THAT(find_forwarders(b.profile()).names(), ElementsAre("lower", "upper_alloc"));
}

TEST(Forwarders, RowsAreOfTheCallersAndSayThroughWhat) {
  Builder b = many("AppAlloc", 5, kOwnSizes);
  const Report report = build_report(b.profile());
  EXPECT_EQ(self(report, "AppAlloc"), -1);
  EXPECT_EQ(self(report, "caller4"), 6 * 196);
  ASSERT_NE(row(report, "caller4"), nullptr);
  ASSERT_TRUE(row(report, "caller4")->notes.through.has_value());
  EXPECT_EQ(row(report, "caller4")->notes.through->function, "AppAlloc");
  EXPECT_THAT(report.forwarders, ElementsAre("AppAlloc"));
  ReportOptions all;
  all.view.all = true;
  EXPECT_EQ(self(build_report(b.profile(), all), "AppAlloc"), 6 * (100 + 124 + 148 + 172 + 196));
}

TEST(Forwarders, AFilterDoesNotChangeThem) {
  Builder b = many("AppAlloc", 5, kOwnSizes);
  ReportOptions options;
  options.filter.focus = Pattern("caller4");
  EXPECT_EQ(self(build_report(b.profile(), options), "caller4"), 6 * 196);
}

TEST(Forwarders, WhatIsComparedIsGroupedAlike) {
  Builder few = many("AppAlloc", 2, kOwnSizes);
  Builder many_callers = many("AppAlloc", 5, kOwnSizes);
  EXPECT_TRUE(find_forwarders(few.profile()).is_empty());
  EXPECT_THAT(find_forwarders({&few.profile(), &many_callers.profile()})->names(), ElementsAre("AppAlloc"));
}

}  // namespace
}  // namespace memprof::profile
