// SPDX-License-Identifier: Apache-2.0
#include "core/counts/runtime_heap.h"

#include <gtest/gtest.h>

#include <string>

#include "core/reader/snapshot.h"
#include "tests/support/arena.h"

namespace memprof::runtime_heap_table_test {
namespace {

using testing_support::ScopedArena;
using testing_support::take;

constexpr Limits kLimits{1024, 8192, 64};
constexpr RuntimeHeapSums kSums{2, 9000, 8000, 0, 70, 600, {1000, 7000, 500}};

uint32_t text_in(RuntimeHeapTable& table, const std::string& text) {
  return table.text(text.data(), text.size());
}

// main() made 100 bytes, and keep(), which it called, 5,000.
void publish_two(const Arena& arena) {
  RuntimeHeapTable table;
  ASSERT_TRUE(table.begin());
  const uint32_t file = text_in(table, "/srv/app.js");
  const uint32_t root = table.add({text_in(table, "main"), file, 60, 1, RuntimeHeapTable::kNone});
  table.add({text_in(table, "keep"), text_in(table, "/srv/app.js"), 5000, 7, root});
  table.add_bytes(root, 40);
  ASSERT_TRUE(table.publish(arena, kSums));
}

TEST(RuntimeHeapTable, ReadersFindTheTree) {
  const ScopedArena a(kLimits);
  EXPECT_EQ(0u, take(a.arena)->runtime_heap.runtime) << "nothing was told";
  publish_two(a.arena);
  const auto s = take(a.arena);
  const RuntimeHeap& heap = s->runtime_heap;
  EXPECT_EQ(2u, heap.runtime);
  EXPECT_EQ(9000u, heap.resident_bytes);
  EXPECT_EQ(8000u, heap.used_bytes);
  EXPECT_EQ(0u, heap.live_bytes);
  EXPECT_EQ(70u, heap.code_bytes);
  EXPECT_EQ(600u, heap.external_bytes);
  EXPECT_EQ(1000u, heap.young_bytes);
  EXPECT_EQ(7000u, heap.old_bytes);
  EXPECT_EQ(500u, heap.large_bytes);
  ASSERT_EQ(2u, heap.node_count);
  EXPECT_STREQ("main", heap.nodes[0].function);
  EXPECT_EQ(100u, heap.nodes[0].bytes);
  EXPECT_EQ(0u, heap.nodes[0].parent);
  EXPECT_STREQ("keep", heap.nodes[1].function);
  EXPECT_STREQ("/srv/app.js", heap.nodes[1].file);
  EXPECT_EQ(heap.nodes[0].file, heap.nodes[1].file) << "equal texts are one";
  EXPECT_EQ(5000u, heap.nodes[1].bytes);
  EXPECT_EQ(7u, heap.nodes[1].line);
  EXPECT_EQ(0u, heap.nodes[1].parent);
}

TEST(RuntimeHeapTable, ALaterTreeTakesThePlaceOfTheOneBefore) {
  const ScopedArena a(kLimits);
  publish_two(a.arena);
  RuntimeHeapTable table;
  ASSERT_TRUE(table.begin());
  table.add({text_in(table, "first"), 0, 1, 0, RuntimeHeapTable::kNone});
  ASSERT_TRUE(table.begin());
  table.add({text_in(table, "other"), 0, 11, 0, RuntimeHeapTable::kNone});
  ASSERT_TRUE(table.publish(a.arena, kSums));
  const auto s = take(a.arena);
  ASSERT_EQ(1u, s->runtime_heap.node_count);
  EXPECT_STREQ("other", s->runtime_heap.nodes[0].function);
  EXPECT_STREQ("", s->runtime_heap.nodes[0].file);
}

TEST(RuntimeHeapTable, WhatFindsNoRoomIsSaid) {
  RuntimeHeapTable table;
  ASSERT_TRUE(table.begin());
  for (uint32_t i = 0; i < kMaxRuntimeHeapEntries; ++i) {
    ASSERT_EQ(i, table.add({0, 0, 1, 0, RuntimeHeapTable::kNone}));
  }
  EXPECT_EQ(RuntimeHeapTable::kNone, table.add({0, 0, 1, 0, RuntimeHeapTable::kNone}));
  uint32_t texts = 0;
  while (text_in(table, std::string(1000, 'x') + std::to_string(texts)) != 0) {
    ++texts;
  }
  EXPECT_NEAR(kMaxRuntimeHeapEntries * kMeanRuntimeHeapText / 1005.0, texts, 5);
  EXPECT_NE(0u, text_in(table, std::string(1000, 'x') + "0")) << "it is there";
  const ScopedArena a(kLimits);
  EXPECT_TRUE(table.publish(a.arena, kSums)) << "what a table can have the arena has room for";
  const ScopedArena small({1024, 256, 64});
  EXPECT_FALSE(table.publish(small.arena, kSums));
  EXPECT_EQ(0u, take(small.arena)->runtime_heap.runtime);
}

// Of several isolates.
TEST(RuntimeHeapTable, TreesAreAppended) {
  const ScopedArena a(kLimits);
  RuntimeHeapTable all;
  RuntimeHeapTable one;
  RuntimeHeapTable other;
  for (RuntimeHeapTable* table : {&all, &one, &other}) {
    ASSERT_TRUE(table->begin());
  }
  const uint32_t main = one.add({text_in(one, "main"), text_in(one, "a.js"), 60, 1, RuntimeHeapTable::kNone});
  one.add({text_in(one, "keep"), text_in(one, "a.js"), 5000, 7, main});
  other.add({text_in(other, "serve"), text_in(other, "b.js"), 9, 2, RuntimeHeapTable::kNone});
  const uint32_t work =
      other.add({text_in(other, "work"), text_in(other, "a.js"), 8, 3, RuntimeHeapTable::kNone});
  other.add({text_in(other, "keep"), text_in(other, "a.js"), 7, 4, work});
  EXPECT_EQ(0u, all.append(one));
  EXPECT_EQ(0u, all.append(other));
  ASSERT_TRUE(all.publish(a.arena, kSums));
  const auto s = take(a.arena);
  std::string found;
  for (uint64_t i = 0; i < s->runtime_heap.node_count; ++i) {
    const RuntimeHeapNode& n = s->runtime_heap.nodes[i];
    found += std::to_string(n.parent) + n.function + n.file + std::to_string(n.bytes) + " ";
  }
  EXPECT_EQ("0maina.js60 0keepa.js5000 2serveb.js9 3worka.js8 3keepa.js7 ", found);
}

TEST(RuntimeHeapTable, AppendedBytesWithoutRoomAreTheCallersOrSaid) {
  RuntimeHeapTable all;
  RuntimeHeapTable other;
  ASSERT_TRUE(all.begin());
  ASSERT_TRUE(other.begin());
  for (uint32_t i = 0; i < kMaxRuntimeHeapEntries - 2; ++i) {
    all.add({0, 0, 1, 0, RuntimeHeapTable::kNone});
  }
  const uint32_t root = other.add({0, 0, 1, 0, RuntimeHeapTable::kNone});
  const uint32_t without = other.add({0, 0, 20, 0, root});
  other.add({0, 0, 300, 0, without});
  const uint32_t second = other.add({0, 0, 4000, 0, RuntimeHeapTable::kNone});
  other.add({0, 0, 50000, 0, second});
  EXPECT_EQ(54000u, all.append(other));
  const ScopedArena a(kLimits);
  ASSERT_TRUE(all.publish(a.arena, kSums));
  const auto s = take(a.arena);
  ASSERT_EQ(kMaxRuntimeHeapEntries - 1, s->runtime_heap.node_count);
  EXPECT_EQ(321u, s->runtime_heap.nodes[kMaxRuntimeHeapEntries - 2].bytes);
}

}  // namespace
}  // namespace memprof::runtime_heap_table_test
