// SPDX-License-Identifier: Apache-2.0
#include "dump/runtime_heap.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "memprof.h"
#include "profile/model/estimate.h"
#include "profile/model/mapped.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/pprof/pprof_writer.h"
#include "tests/capi/profiled.h"
#include "tests/support/engine.h"
#include "tests/support/folder.h"

namespace memprof::runtime_heap_test {
namespace {

using profile::Metric;
using testing_support::in_child;
using testing_support::TemporaryFolder;

// main calls work, which calls itself; both made objects, and so did somebody whom nobody called.
std::vector<RuntimeHeapNode> nodes() {
  return {{"main", "app.js", 0, 1, 0},
          {"work", "app.js", 1000, 5, 0},
          {"work", "app.js", 200, 5, 1},
          {"", "", 30, 0, 3},
          {"main", "app.js", 4, 1, 4}};
}

RuntimeHeap heap_of(const std::vector<RuntimeHeapNode>& nodes) {
  RuntimeHeap heap{};
  heap.struct_size = sizeof(heap);
  heap.runtime = MEMPROF_RUNTIME_V8;
  heap.nodes = nodes.data();
  heap.node_count = nodes.size();
  heap.resident_bytes = 9000;
  heap.used_bytes = 5000;
  heap.live_bytes = 4000;
  heap.code_bytes = 300;
  heap.external_bytes = 77;
  heap.young_bytes = 1000;
  heap.old_bytes = 7000;
  heap.large_bytes = 600;
  return heap;
}

TEST(RuntimeHeap, EveryNodeWithBytesIsAStack) {
  const std::vector<RuntimeHeapNode> tree = nodes();
  const RuntimeHeap heap = heap_of(tree);
  ASSERT_TRUE(is_tree(heap));
  const RuntimeHeapSize size = size_of(heap);
  ASSERT_EQ(4u, size.stacks);
  ASSERT_EQ(2u + 3 + 1 + 1, size.frames);
  std::vector<profile::RawRuntimeFrame> runtime_frames(tree.size());
  std::vector<uint64_t> frames(size.frames);
  std::vector<profile::RawStack> stacks(size.stacks);
  add_runtime_heap(heap, 10, 3, runtime_frames.data(), frames.data(), stacks.data());
  EXPECT_STREQ("work", runtime_frames[2].name);
  EXPECT_EQ(5u, runtime_frames[2].line);
  const std::vector<uint64_t> depths = {2, 3, 1, 1};
  const std::vector<int64_t> bytes = {1000, 200, 30, 4};
  for (size_t i = 0; i < stacks.size(); ++i) {
    EXPECT_EQ(depths[i], stacks[i].depth);
    EXPECT_EQ(bytes[i], stacks[i].js_bytes);
    EXPECT_EQ(3u, stacks[i].heap);
  }
  EXPECT_EQ(profile::kRuntimeFrame | 12, stacks[1].frames[0]);
  EXPECT_EQ(profile::kRuntimeFrame | 11, stacks[1].frames[1]);
  EXPECT_EQ(profile::kRuntimeFrame | 10, stacks[1].frames[2]);
}

TEST(RuntimeHeap, DeepStacksAreCut) {
  std::vector<RuntimeHeapNode> tree;
  for (uint32_t i = 0; i < 3000; ++i) tree.push_back({"f", "app.js", 0, 1, i == 0 ? 0 : i - 1});
  tree.back().bytes = 1;
  EXPECT_EQ(1024u, size_of(heap_of(tree)).frames);
}

TEST(RuntimeHeap, WhatIsNoTreeIsRefused) {
  std::vector<RuntimeHeapNode> tree = nodes();
  tree[1].parent = 2;
  EXPECT_FALSE(is_tree(heap_of(tree)));
  tree = nodes();
  tree[3].file = nullptr;
  EXPECT_FALSE(is_tree(heap_of(tree)));
  RuntimeHeap heap = heap_of(nodes());
  heap.nodes = nullptr;
  EXPECT_FALSE(is_tree(heap));
  heap.node_count = 0;
  EXPECT_TRUE(is_tree(heap));
}

void check_read(const profile::Profile& p) {
  EXPECT_TRUE(p.has_metric[metric_index(Metric::kJsSpace)]);
  EXPECT_FALSE(p.has_metric[metric_index(Metric::kMappedSpace)]);
  EXPECT_EQ(1234, profile::estimated_total(p, Metric::kJsSpace));
  EXPECT_EQ(100, profile::estimated_total(p, Metric::kInuseSpace));
  EXPECT_EQ(9000u, p.resident.js_bytes);
  EXPECT_EQ(5000u, p.resident.js_used_bytes);
  EXPECT_EQ(4000u, p.resident.js_live_bytes);
  EXPECT_EQ(300u, p.resident.js_code_bytes);
  EXPECT_EQ(77u, p.resident.js_external_bytes);
  EXPECT_EQ(1000u, p.resident.js_young_bytes);
  EXPECT_EQ(7000u, p.resident.js_old_bytes);
  EXPECT_EQ(600u, p.resident.js_large_bytes);
  size_t of_js = 0;
  for (const profile::Stack& stack : p.stacks) {
    EXPECT_TRUE(stack.has_statistics);
    EXPECT_EQ(profile::has_js_values(stack.values) ? "js" : "", stack.heap);
    if (!profile::is_only_apart(stack)) continue;
    ++of_js;
    EXPECT_EQ(0, profile::estimated_value(stack, Metric::kInuseSpace));
    if (stack.values[metric_index(Metric::kJsSpace)] == 200) {
      ASSERT_EQ(3u, stack.locations.size());
      const profile::Line& line = p.locations[stack.locations[0]].lines.at(0);
      EXPECT_EQ("work", p.functions[line.function].name);
      EXPECT_EQ("app.js", p.functions[line.function].filename);
      EXPECT_EQ(5, line.line);
    }
  }
  EXPECT_EQ(4u, of_js);
}

TEST(RuntimeHeap, IsBesideTheBlocksOfAProfile) {
  in_child([] {
    const TemporaryFolder folder;
    memprof_test::start();
    memprof_test::record(0x10000, 100, 1, 0x401000);
    memprof_snapshot* snapshot = nullptr;
    ASSERT_EQ(MEMPROF_OK, memprof_get_snapshot(&snapshot));
    ASSERT_EQ(MEMPROF_OK, memprof_snapshot_read_resident(snapshot, 0));
    const std::vector<RuntimeHeapNode> tree = nodes();
    RuntimeHeap heap = heap_of(tree);
    const auto* const given = reinterpret_cast<const memprof_runtime_heap*>(&heap);
    const std::string path = folder.path("heap.pb.gz");
    ASSERT_EQ(MEMPROF_OK, memprof_snapshot_write_profile(snapshot, path.c_str(), 0, given));
    EXPECT_EQ(MEMPROF_ERR_EXISTS, memprof_snapshot_write_profile(snapshot, path.c_str(), 0, given));
    const profile::Profile p = profile::read_pprof_file(path);
    check_read(p);
    check_read(profile::read_pprof(profile::write_pprof(p), "again"));

    const std::string plain = folder.path("plain.pb");
    ASSERT_EQ(MEMPROF_OK, memprof_snapshot_write_profile(snapshot, plain.c_str(), 0, nullptr));
    EXPECT_FALSE(profile::read_pprof_file(plain).has_metric[metric_index(Metric::kJsSpace)]);
    // By a caller who knows nothing of spaces.
    heap.struct_size = offsetof(memprof_runtime_heap, young_bytes);
    const std::string first = folder.path("first.pb");
    ASSERT_EQ(MEMPROF_OK, memprof_snapshot_write_profile(snapshot, first.c_str(), 0, given));
    EXPECT_EQ(0u, profile::read_pprof_file(first).resident.js_old_bytes);
    EXPECT_EQ(77u, profile::read_pprof_file(first).resident.js_external_bytes);
    heap.struct_size = sizeof(heap);
    heap.runtime = MEMPROF_RUNTIME_CPYTHON;
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_snapshot_write_profile(snapshot, plain.c_str(), 1, given));
    heap.runtime = MEMPROF_RUNTIME_V8;
    heap.struct_size = 8;
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_snapshot_write_profile(snapshot, plain.c_str(), 1, given));
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_snapshot_write_profile(nullptr, plain.c_str(), 1, nullptr));
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_snapshot_write_profile(snapshot, plain.c_str(), 2, nullptr));
    memprof_free_snapshot(snapshot);
    std::filesystem::remove_all(folder.path(""));
  });
}

}  // namespace
}  // namespace memprof::runtime_heap_test
