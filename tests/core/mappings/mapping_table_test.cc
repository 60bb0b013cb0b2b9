// SPDX-License-Identifier: Apache-2.0
#include "core/mappings/mapping_table.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::mapping_table_test {
namespace {

using testing_support::Random;
using testing_support::ScopedArena;

// Uses that the table holds of each stack.
std::map<uint32_t, int> g_uses;
bool hold(uint32_t stack) {
  ++g_uses[stack];
  return true;
}
void release(uint32_t stack) {
  --g_uses[stack];
}

constexpr uint64_t kPage = 4096;

MappedRange range_of(uint64_t first_page, uint64_t pages, uint64_t ticket, uint32_t stack) {
  MappedRange r;
  r.start = first_page * kPage;
  r.limit = r.start + pages * kPage;
  r.ticket = ticket;
  r.stack = stack;
  return r;
}

class MappingTableTest : public ::testing::Test {
 protected:
  MappingTableTest() { g_uses.clear(); }

  void add(uint64_t first_page, uint64_t pages, uint64_t ticket, uint32_t stack) {
    hold(stack);
    table_.add(range_of(first_page, pages, ticket, stack));
  }
  void fill(uint64_t first_page, uint64_t pages, uint64_t ticket, uint32_t stack) {
    hold(stack);
    table_.fill(range_of(first_page, pages, ticket, stack));
  }
  void move(uint64_t from, uint64_t old_pages, uint64_t to, uint64_t new_pages, uint64_t ticket,
            uint32_t stack, bool keeps_old = false) {
    hold(stack);
    MappedRange tail;
    tail.ticket = ticket + 1;
    tail.stack = stack;
    table_.move(from * kPage, old_pages * kPage, to * kPage, new_pages * kPage, ticket, tail, keeps_old);
  }
  void remove(uint64_t first_page, uint64_t pages, uint64_t ticket) {
    table_.remove(first_page * kPage, (first_page + pages) * kPage, ticket);
  }
  // "first-last:stack ..." in pages.
  std::string text() const {
    std::string all;
    table_.each([&all](const MappingNode& n) {
      all += (all.empty() ? "" : " ") + std::to_string(n.start.load() / kPage) + "-" +
             std::to_string(n.limit.load() / kPage) + ":" + std::to_string(n.stack.load());
    });
    return all;
  }
  // Each range holds one use of its stack, and nobody else any.
  void expect_uses_of_ranges() const {
    std::map<uint32_t, int> expected;
    table_.each([&expected](const MappingNode& n) { ++expected[n.stack.load()]; });
    for (const auto& [stack, uses] : g_uses) {
      EXPECT_EQ(expected[stack], uses) << "stack " << stack;
    }
  }

  ScopedArena arena_{Limits{1024, 4096, 64}};
  MappingTable table_{arena_.arena, {hold, release}};
};

TEST_F(MappingTableTest, WhatIsMappedOverARangeTakesItsPlace) {
  add(10, 10, 1, 1);
  add(14, 2, 2, 2);
  EXPECT_EQ("10-14:1 14-16:2 16-20:1", text());
  add(8, 4, 3, 3);
  EXPECT_EQ("8-12:3 12-14:1 14-16:2 16-20:1", text());
  add(0, 100, 4, 4);
  EXPECT_EQ("0-100:4", text());
  expect_uses_of_ranges();
}

// Windows: pages of a region are given memory, and some of them had it.
TEST_F(MappingTableTest, WhatFillsARangeLeavesWhatIsThere) {
  fill(10, 4, 1, 1);
  fill(10, 8, 2, 2);
  EXPECT_EQ("10-14:1 14-18:2", text());
  fill(0, 30, 3, 3);
  EXPECT_EQ("0-10:3 10-14:1 14-18:2 18-30:3", text());
  EXPECT_EQ(3u, arena_.header().later_statistics.mappings.load());
  fill(9, 10, 4, 4);  // nothing is left to be filled
  EXPECT_EQ("0-10:3 10-14:1 14-18:2 18-30:3", text());
  EXPECT_EQ(3u, arena_.header().later_statistics.mappings.load());
  expect_uses_of_ranges();
  // What is told late of memory that was taken away does not take what came back since.
  remove(10, 4, 5);
  fill(10, 2, 7, 5);
  remove(8, 8, 6);
  EXPECT_EQ("0-8:3 10-12:5 16-18:2 18-30:3", text());
  remove(0, 30, 8);
  EXPECT_EQ("", text());
  expect_uses_of_ranges();
}

TEST_F(MappingTableTest, PartsAreUnmapped) {
  add(10, 10, 1, 1);
  remove(12, 2, 5);
  EXPECT_EQ("10-12:1 14-20:1", text());
  remove(0, 11, 5);
  EXPECT_EQ("11-12:1 14-20:1", text());
  remove(18, 100, 5);
  EXPECT_EQ("11-12:1 14-18:1", text());
  remove(0, 1000, 5);
  EXPECT_EQ("", text());
  EXPECT_EQ(0u, arena_.header().mappings.ranges.load());
  expect_uses_of_ranges();
}

// One thread unmaps; before it says so, another one is given the same addresses.
TEST_F(MappingTableTest, AnUnmapThatIsToldLateTakesNothingThatIsYounger) {
  add(10, 10, 1, 1);
  const uint64_t ticket_of_unmap = 2;
  add(10, 5, 3, 2);
  remove(10, 10, ticket_of_unmap);
  EXPECT_EQ("10-15:2", text());
  // Nor does a mapping whose event comes late.
  add(8, 20, 2, 4);
  EXPECT_EQ("8-10:4 10-15:2 15-28:4", text());
  expect_uses_of_ranges();
}

TEST_F(MappingTableTest, AMovedRangeKeepsItsStackAndWhatItGrewByHasTheMovers) {
  add(10, 4, 1, 1);
  move(10, 4, 10, 6, 2, 2);  // in place
  EXPECT_EQ("10-14:1 14-16:2", text());
  move(10, 6, 10, 3, 4, 3);  // shrinks
  EXPECT_EQ("10-13:1", text());
  move(10, 3, 50, 5, 6, 4);
  EXPECT_EQ("50-53:1 53-55:4", text());
  move(50, 5, 70, 5, 8, 5, true);
  EXPECT_EQ("50-53:1 53-55:4 70-73:1 73-75:4", text());
  move(51, 1, 90, 1, 10, 6);
  EXPECT_EQ("50-51:1 52-53:1 53-55:4 70-73:1 73-75:4 90-91:1", text());
  // Of what is not known, nothing becomes known.
  move(200, 2, 300, 4, 12, 7);
  EXPECT_EQ("50-51:1 52-53:1 53-55:4 70-73:1 73-75:4 90-91:1", text());
  expect_uses_of_ranges();
}

// Against a page at a time, with a fixed seed.
TEST_F(MappingTableTest, AgreesWithAMapOfPages) {
  constexpr uint64_t kPages = 400;
  std::vector<uint32_t> model(kPages, 0);
  Random random(20261123);
  uint64_t ticket = 1;
  for (int step = 0; step < 20000; ++step) {
    const uint64_t first = random.next() % kPages;
    const uint64_t pages = 1 + random.next() % std::min<uint64_t>(40, kPages - first);
    const auto stack = static_cast<uint32_t>(1 + random.next() % 5);
    const auto fill = [&model](uint64_t from, uint64_t count, uint32_t with) {
      std::fill_n(model.begin() + static_cast<std::ptrdiff_t>(from), count, with);
    };
    switch (random.next() % 4) {
      case 0:
      case 1:
        add(first, pages, ++ticket, stack);
        fill(first, pages, stack);
        break;
      case 2:
        remove(first, pages, ++ticket);
        fill(first, pages, 0);
        break;
      default: {
        const uint64_t to = random.next() % kPages;
        const uint64_t new_pages = 1 + random.next() % (kPages - to);
        const bool overlaps = to < first + pages && first < to + new_pages;
        if (overlaps) {
          break;  // the kernel refuses it
        }
        const bool is_end_known = model[first + pages - 1] != 0;
        const std::vector<uint32_t> old(model.begin() + static_cast<std::ptrdiff_t>(first),
                                        model.begin() + static_cast<std::ptrdiff_t>(first + pages));
        move(first, pages, to, new_pages, ticket + 1, stack);
        ticket += 2;
        fill(first, pages, 0);
        for (uint64_t i = 0; i < new_pages; ++i) {
          model[to + i] = i < pages ? old[i] : is_end_known ? stack : 0;
        }
      }
    }
    std::vector<uint32_t> found(kPages, 0);
    uint64_t last = 0;
    table_.each([&](const MappingNode& n) {
      const uint64_t start = n.start.load() / kPage;
      const uint64_t limit = n.limit.load() / kPage;
      ASSERT_LE(last, start);
      ASSERT_LT(start, limit);
      last = limit;
      std::fill(found.begin() + static_cast<std::ptrdiff_t>(start),
                found.begin() + static_cast<std::ptrdiff_t>(limit), n.stack.load());
    });
    ASSERT_EQ(model, found) << "step " << step;
  }
  expect_uses_of_ranges();
}

TEST_F(MappingTableTest, AFullTableJoinsNeighboursAndThenDropsAndCounts) {
  const uint64_t room = arena_.arena.section(kMappingSection).capacity_bytes / sizeof(MappingNode) - 1;
  // Neighbours by twos, so that half of them can be joined once.
  for (uint64_t i = 0; i < room; ++i) {
    add(3 * (i / 2) + i % 2, 1, i + 1, 1);
  }
  EXPECT_EQ(0u, arena_.header().later_statistics.dropped_mappings.load());
  EXPECT_EQ(room, arena_.header().mappings.ranges.load());
  add(1'000'000, 1, room + 1, 2);
  EXPECT_EQ(0u, arena_.header().later_statistics.dropped_mappings.load());
  EXPECT_EQ(room / 2, arena_.header().mappings.joined.load());
  uint64_t added = 1;
  while (arena_.header().later_statistics.dropped_mappings.load() == 0 && added <= room) {
    add(1'000'000 + 2 * added, 1, room + 1 + added, 2);
    ++added;
  }
  EXPECT_EQ(room / 2 + 1, added);
  expect_uses_of_ranges();
}

}  // namespace
}  // namespace memprof::mapping_table_test
