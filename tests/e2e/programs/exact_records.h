// SPDX-License-Identifier: Apache-2.0
// What the profiler says of a block, for programs/exact.cc.
#pragma once

#include <cerrno>
#include <cstdint>
#include <new>

#include "memprof.h"
#include "truth.h"
#ifdef EXACT_WEAK
#pragma weak memprof_init
#pragma weak memprof_start
#pragma weak memprof_stop
#pragma weak memprof_shutdown
#pragma weak memprof_set_rate
#pragma weak memprof_get_stats
#pragma weak memprof_get_snapshot
#pragma weak memprof_free_snapshot
#pragma weak memprof_snapshot_records
#pragma weak memprof_snapshot_stacks
#pragma weak memprof_snapshot_frames
#endif

namespace {

int g_failures = 0;

#define CHECK(condition)                                                                          \
  do {                                                                                            \
    if (!(condition)) {                                                                           \
      fprintf(stderr, "%s:%d: not true: %s (errno %d)\n", __FILE__, __LINE__, #condition, errno); \
      ++g_failures;                                                                               \
    }                                                                                             \
  } while (false)

void start() {
  memprof_options options{};
  options.struct_size = sizeof(options);
  options.rate_bytes = 0;
  CHECK(memprof_init(&options) == MEMPROF_OK);
  CHECK(memprof_start() == MEMPROF_OK);
}

memprof_stats stats() {
  memprof_stats s{};
  s.struct_size = sizeof(s);
  CHECK(memprof_get_stats(&s) == MEMPROF_OK);
  return s;
}

constexpr uint64_t kNoRecord = ~uint64_t{0};

// What the profiler knows of a block: its size, and the frame that allocated it. The address may be one that
// is freed already.
struct Known {
  uint64_t size = kNoRecord;
  uint64_t leaf = 0;
};

Known known(uintptr_t address) {
  memprof_snapshot* snapshot = nullptr;
  CHECK(memprof_get_snapshot(&snapshot) == MEMPROF_OK);
  uint64_t count = 0;
  const memprof_record* records = memprof_snapshot_records(snapshot, &count);
  const memprof_stack* stacks = memprof_snapshot_stacks(snapshot, nullptr);
  const uint64_t* frames = memprof_snapshot_frames(snapshot, nullptr);
  Known found;
  int hits = 0;
  for (uint64_t i = 0; i < count; ++i) {
    if (records[i].address != address) continue;
    ++hits;
    CHECK(records[i].weight_count == 1 &&
          records[i].weight_bytes == static_cast<double>(records[i].size_bytes));
    found.size = records[i].size_bytes;
    if (stacks[records[i].stack_id].frame_count > 0)
      found.leaf = frames[stacks[records[i].stack_id].first_frame];
  }
  CHECK(hits <= 1);
  memprof_free_snapshot(snapshot);
  return found;
}

uint64_t size_of(const void* block) {
  return known(reinterpret_cast<uintptr_t>(block)).size;
}

uint64_t live_records() {
  memprof_snapshot* snapshot = nullptr;
  CHECK(memprof_get_snapshot(&snapshot) == MEMPROF_OK);
  uint64_t count = 0;
  memprof_snapshot_records(snapshot, &count);
  memprof_free_snapshot(snapshot);
  return count;
}

double live_bytes() {
  memprof_snapshot* snapshot = nullptr;
  CHECK(memprof_get_snapshot(&snapshot) == MEMPROF_OK);
  uint64_t count = 0;
  const memprof_record* records = memprof_snapshot_records(snapshot, &count);
  double bytes = 0;
  for (uint64_t i = 0; i < count; ++i) bytes += records[i].weight_bytes;
  memprof_free_snapshot(snapshot);
  return bytes;
}

constexpr std::align_val_t kAlign{64};

}  // namespace
