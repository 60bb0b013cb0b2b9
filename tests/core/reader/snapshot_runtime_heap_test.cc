// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <atomic>
#include <cstring>
#include <string>
#include <thread>

#include "core/counts/runtime_heap.h"
#include "core/reader/snapshot.h"
#include "tests/support/arena.h"

namespace memprof::snapshot_runtime_heap_test {
namespace {

using testing_support::ScopedArena;
using testing_support::take;

constexpr Limits kLimits{1024, 8192, 64};
constexpr RuntimeHeapSums kSums{2, 9000, 8000, 0, 70, 600, {1000, 7000, 500}};

uint32_t text_in(RuntimeHeapTable& table, const std::string& text) {
  return table.text(text.data(), text.size());
}

void publish_two(const Arena& arena) {
  RuntimeHeapTable table;
  ASSERT_TRUE(table.begin());
  const uint32_t root = table.add({text_in(table, "main"), 0, 60, 1, RuntimeHeapTable::kNone});
  table.add({text_in(table, "keep"), 0, 5000, 7, root});
  ASSERT_TRUE(table.publish(arena, kSums));
}

RuntimeHeapHead& head_of(const Arena& arena) {
  return *arena.at<RuntimeHeapHead>(kRuntimeHeapSection);
}
RuntimeHeapEntry* entries_of(const Arena& arena) {
  return reinterpret_cast<RuntimeHeapEntry*>(&head_of(arena) + 1);
}

// A writer that was killed, or a hostile one.
TEST(SnapshotRuntimeHeap, WhatIsNoTreeIsLeftOut) {
  const ScopedArena a(kLimits);
  publish_two(a.arena);
  const auto is_there = [&] { return take(a.arena)->runtime_heap.runtime != 0; };
  const auto with = [&](auto* field, auto value) {
    const auto before = *field;
    *field = value;
    const bool result = is_there();
    *field = before;
    return result;
  };
  ASSERT_TRUE(is_there());
  RuntimeHeapHead& head = head_of(a.arena);
  RuntimeHeapEntry* const entries = entries_of(a.arena);
  EXPECT_FALSE(with(&head.entry_count, UINT64_MAX));
  EXPECT_FALSE(with(&head.entry_count, uint64_t{1} << 32));
  EXPECT_FALSE(with(&head.text_bytes, UINT64_MAX));
  EXPECT_FALSE(with(&head.text_bytes, uint64_t{0}));
  EXPECT_FALSE(with(&head.text_bytes, head.text_bytes - 1)) << "it ends in the middle of a text";
  EXPECT_FALSE(with(&entries[1].parent, 2u));
  EXPECT_FALSE(with(&entries[0].parent, 1u));
  EXPECT_FALSE(with(&entries[1].function, static_cast<uint32_t>(head.text_bytes)));
  EXPECT_FALSE(with(&entries[1].file, UINT32_MAX));
  head.changes.fetch_or(1);
  EXPECT_FALSE(is_there()) << "it is being written";
}

TEST(SnapshotRuntimeHeap, AnOlderArenaHasNone) {
  const ScopedArena a(kLimits);
  publish_two(a.arena);
  ArenaHeader& h = a.arena.header();
  h.version = 9;
  h.header_bytes = kVersion9HeaderBytes;
  h.section_count = kVersion9Sections;
  const auto s = take(a.arena);
  ASSERT_NE(nullptr, s);
  EXPECT_EQ(0u, s->runtime_heap.runtime);
}

// Each tree has one entry of as many bytes as its text has characters.
TEST(SnapshotRuntimeHeap, ReadersSeeWholeTrees) {
  const ScopedArena a(kLimits);
  std::atomic<bool> ends{false};
  std::thread writer([&] {
    RuntimeHeapTable table;
    for (uint64_t i = 1; !ends.load(); ++i) {
      ASSERT_TRUE(table.begin());
      const std::string text(1 + i % 3000, 'a');
      table.add({text_in(table, text), 0, text.size(), 0, RuntimeHeapTable::kNone});
      ASSERT_TRUE(table.publish(a.arena, kSums));
    }
  });
  uint64_t seen = 0;
  for (int i = 0; i < 300 || (seen == 0 && i < 100000); ++i) {
    const auto s = take(a.arena);
    if (s->runtime_heap.runtime != 0) {
      ++seen;
      ASSERT_EQ(1u, s->runtime_heap.node_count);
      ASSERT_EQ(s->runtime_heap.nodes[0].bytes, strlen(s->runtime_heap.nodes[0].function));
    }
  }
  ends.store(true);
  writer.join();
  EXPECT_GT(seen, 0u);
}

}  // namespace
}  // namespace memprof::snapshot_runtime_heap_test
