// SPDX-License-Identifier: Apache-2.0
#include "core/mappings/mappings.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "core/engine/ending.h"
#include "core/engine/profiler.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::mappings_test {
namespace {

using testing_support::FakeStack;
using testing_support::in_child;
using testing_support::take;

constexpr Limits kLimits{1 << 12, 4096, 64};
constexpr uint64_t kPage = 4096;

using mappings::Recording;

void start(Recording recording) {
  mappings::configure(recording);
  ASSERT_EQ(Status::kOk, profiler::initialize(kLimits, 1 << 20));
  ASSERT_EQ(Status::kOk, profiler::start());
}

const void* at(uint64_t page) {
  return reinterpret_cast<const void*>(page * kPage);
}

void map(uint64_t page, uint64_t pages, uint64_t caller, bool is_recorded = true) {
  const FakeStack stack(caller);
  mappings::mapped(at(page), pages * kPage, is_recorded, reinterpret_cast<const void*>(caller),
                   stack.entry());
}

TEST(Mappings, AreRecordedWithTheirStacksAndInNoSum) {
  in_child([] {
    start(Recording::kAlways);
    map(100, 10, 0x401000);
    map(200, 5, 0x402000);
    mappings::unmapped(at(104), 2 * kPage, mappings::begin_unmap());
    map(202, 1, 0x403000, false);  // a file
    const FakeStack stack(0x404000);
    mappings::moved(at(200), 2 * kPage, at(300), 4 * kPage, false, mappings::begin_unmap(), nullptr,
                    stack.entry());
    const auto s = take(profiler::arena());
    EXPECT_TRUE(s->has_mappings);
    ASSERT_EQ(5u, s->mappings.size);  // 100-104, 106-110, 203-205, 300-302, 302-304
    const uint64_t starts[] = {100, 106, 203, 300, 302};
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(starts[i] * kPage, s->mappings.data[i].start) << i;
      const uint32_t heap = s->stack_heaps.data[s->mappings.data[i].stack_id];
      EXPECT_STREQ(mappings::kHeapName, s->strings.data + s->heaps.data[heap].name_offset);
    }
    EXPECT_EQ(s->mappings.data[0].stack_id, s->mappings.data[1].stack_id);
    EXPECT_EQ(s->mappings.data[2].stack_id, s->mappings.data[3].stack_id);
    EXPECT_NE(s->mappings.data[3].stack_id, s->mappings.data[4].stack_id);
    EXPECT_EQ(0u, s->records.size);
    EXPECT_EQ(0u, s->counters.samples);
    EXPECT_EQ(2u + 1u, s->counters.mappings);  // and what it grew by
    EXPECT_EQ(0u, s->counters.dropped_mappings);
  });
}

void commit(uint64_t page, uint64_t pages, uint64_t caller) {
  const FakeStack stack(caller);
  mappings::committed(at(page), pages * kPage, reinterpret_cast<const void*>(caller), stack.entry());
}

TEST(Mappings, WhatIsCommittedKeepsItsFirstStack) {
  in_child([] {
    start(Recording::kAlways);
    commit(100, 4, 0x401000);
    commit(98, 8, 0x402000);
    commit(98, 8, 0x403000);  // nothing new
    mappings::unmapped(at(99), 2 * kPage, mappings::begin_unmap());
    const auto s = take(profiler::arena());
    const uint64_t ranges[][2] = {{98, 99}, {101, 104}, {104, 106}};
    ASSERT_EQ(3u, s->mappings.size);
    for (int i = 0; i < 3; ++i) {
      EXPECT_EQ(ranges[i][0] * kPage, s->mappings.data[i].start) << i;
      EXPECT_EQ(ranges[i][1] * kPage, s->mappings.data[i].limit) << i;
    }
    EXPECT_EQ(s->mappings.data[0].stack_id, s->mappings.data[2].stack_id);
    EXPECT_NE(s->mappings.data[0].stack_id, s->mappings.data[1].stack_id);
    EXPECT_EQ(2u, s->counters.mappings);
    EXPECT_EQ(Status::kOk, profiler::stop());
    commit(200, 4, 0x401000);
    EXPECT_EQ(3u, take(profiler::arena())->mappings.size);
  });
}

TEST(Mappings, AreNotThereWhereTheirCallsCannotBeSeen) {
  in_child([] {
    start(Recording::kAlways);
    mappings::withdraw();
    EXPECT_FALSE(mappings::is_on());
    map(100, 10, 0x401000);
    EXPECT_FALSE(take(profiler::arena())->has_mappings);
  });
}

TEST(Mappings, OfASeenAllocatorHaveNoStack) {
  in_child([] {
    start(Recording::kAlways);
    mappings::add_allocator(0x500000, 0x600000);
    map(100, 10, 0x400fff);
    map(200, 10, 0x500000);
    map(300, 10, 0x5fffff);
    map(400, 10, 0x600000);
    const auto s = take(profiler::arena());
    ASSERT_EQ(2u, s->mappings.size);
    EXPECT_EQ(100 * kPage, s->mappings.data[0].start);
    EXPECT_EQ(400 * kPage, s->mappings.data[1].start);
  });
}

TEST(Mappings, NothingWhileStoppedButWhatIsGoneIsGone) {
  in_child([] {
    start(Recording::kAlways);
    map(100, 10, 0x401000);
    ASSERT_EQ(Status::kOk, profiler::stop());
    map(200, 10, 0x401000);
    map(102, 1, 0x401000);  // something else is there now
    mappings::unmapped(at(108), kPage, mappings::begin_unmap());
    ASSERT_EQ(Status::kOk, profiler::start());
    const auto s = take(profiler::arena());
    ASSERT_EQ(3u, s->mappings.size);
    EXPECT_EQ(103 * kPage, s->mappings.data[1].start);
    EXPECT_EQ(108 * kPage, s->mappings.data[1].limit);
  });
}

TEST(Mappings, AreOffUnlessAskedFor) {
  in_child([] {
    start(Recording::kNever);
    mappings::request();
    EXPECT_FALSE(mappings::is_on());
    map(100, 10, 0x401000);
    const auto s = take(profiler::arena());
    EXPECT_FALSE(s->has_mappings);
    EXPECT_EQ(0u, s->mappings.size);
  });
}

// Before its tables are made or later; and only what is much is measured.
TEST(Mappings, AreRecordedWhereARuntimeRequestsIt) {
  for (const bool is_early : {false, true}) {
    for (const uint64_t touched_bytes : {mappings::kWorthShowingBytes / 2, mappings::kWorthShowingBytes}) {
      in_child([is_early, touched_bytes] {
        if (is_early) {
          mappings::configure(Recording::kOnRequest);
          mappings::request();
          ASSERT_EQ(Status::kOk, profiler::initialize(kLimits, 1 << 20));
          ASSERT_EQ(Status::kOk, profiler::start());
        } else {
          start(Recording::kOnRequest);
          EXPECT_FALSE(mappings::is_on());
          map(100, 10, 0x401000);
          mappings::request();
        }
        EXPECT_TRUE(mappings::is_on());
        constexpr uint64_t kBytes = 2 * mappings::kWorthShowingBytes;
        void* const memory =
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        ASSERT_NE(MAP_FAILED, memory);
        madvise(memory, kBytes, MADV_NOHUGEPAGE);
        memset(memory, 1, touched_bytes);
        const FakeStack stack(0x402000);
        mappings::mapped(memory, kBytes, true, nullptr, stack.entry());
        mappings::measure();
        const auto s = take(profiler::arena());
        const bool is_much = touched_bytes >= mappings::kWorthShowingBytes;
        EXPECT_EQ(is_much, s->has_mappings);
        EXPECT_EQ(is_much, s->has_resident_mappings);
        ASSERT_EQ(1u, s->mappings.size);
        EXPECT_EQ(reinterpret_cast<uint64_t>(memory), s->mappings.data[0].start);
        if (is_much) {
          EXPECT_EQ(touched_bytes, s->mappings.data[0].resident_bytes);
          munmap(memory, kBytes);
          mappings::unmapped(memory, kBytes, mappings::begin_unmap());
          mappings::measure();
          EXPECT_FALSE(take(profiler::arena())->has_mappings) << "no more";
        }
      });
    }
  }
}

TEST(Mappings, WhatIsThereWhenTheEndBeginsStays) {
  in_child([] {
    start(Recording::kAlways);
    map(100, 10, 0x401000);
    profiler::note_end_begun();
    mappings::unmapped(at(100), 10 * kPage, mappings::begin_unmap());
    map(200, 10, 0x401000);
    const auto s = take(profiler::arena());
    ASSERT_EQ(1u, s->mappings.size);
    EXPECT_EQ(100 * kPage, s->mappings.data[0].start);
  });
}

// A runtime that ends unmaps before it frees a block: what was resident is measured before.
TEST(Mappings, WhatARuntimeUnmapsAtItsEndWasResident) {
  in_child([] {
    start(Recording::kAlways);
    void* const memory =
        mmap(nullptr, 10 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(MAP_FAILED, memory);
    memset(memory, 1, 4 * kPage);
    const FakeStack stack(0x401000);
    mappings::mapped(memory, 10 * kPage, true, nullptr, stack.entry());
    profiler::watch_runtime_end([] { return true; });
    const uint64_t ticket = mappings::begin_unmap();
    munmap(memory, 10 * kPage);
    mappings::unmapped(memory, 10 * kPage, ticket);
    const auto s = take(profiler::arena());
    ASSERT_EQ(1u, s->mappings.size);
    EXPECT_EQ(4 * kPage, s->mappings.data[0].resident_bytes);
  });
}

// A child that is not followed writes nothing into what it shares with its parent.
TEST(Mappings, AForkChildRecordsNothing) {
  in_child([] {
    start(Recording::kAlways);
    map(100, 10, 0x401000);
    in_child([] {
      map(200, 10, 0x401000);
      mappings::unmapped(at(100), 10 * kPage, mappings::begin_unmap());
    });
    const auto s = take(profiler::arena());
    ASSERT_EQ(1u, s->mappings.size);
    EXPECT_EQ(110 * kPage, s->mappings.data[0].limit);
  });
}

}  // namespace
}  // namespace memprof::mappings_test
