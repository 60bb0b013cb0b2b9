// SPDX-License-Identifier: Apache-2.0
// The C library: the copy that is in the process already (`memprof run`, LD_PRELOAD), else libmemprof.so beside the addon.
#pragma once

#include <string>

#include "memprof.h"

namespace memprof::node {

// clang-format off
#define MEMPROF_NODE_FUNCTIONS(F) \
  F(memprof_strerror) F(memprof_version) F(memprof_options_init) F(memprof_init) F(memprof_start) F(memprof_stop) \
  F(memprof_shutdown) F(memprof_set_rate) F(memprof_get_stats) F(memprof_reset_peak) \
  F(memprof_backing_begin) F(memprof_backing_end) F(memprof_write_profile) \
  F(memprof_snapshot_write_profile) F(memprof_snapshot_read_resident) \
  F(memprof_get_snapshot) F(memprof_free_snapshot) F(memprof_snapshot_get_info) F(memprof_snapshot_get_stats) \
  F(memprof_snapshot_records) F(memprof_snapshot_stacks) F(memprof_snapshot_frames) F(memprof_snapshot_frame_modules) \
  F(memprof_snapshot_runtime_frames) F(memprof_snapshot_modules) F(memprof_snapshot_strings) F(memprof_snapshot_symbols) \
  F(memprof_snapshot_peaks) F(memprof_snapshot_younger) F(memprof_snapshot_write_fd) F(memprof_resolve_symbols) \
  F(memprof_estimate_samples) F(memprof_estimate_totals) F(memprof_estimate_difference)
// clang-format on

struct Library {
#define MEMPROF_NODE_MEMBER(name) decltype(&::name) name = nullptr;
  MEMPROF_NODE_FUNCTIONS(MEMPROF_NODE_MEMBER)
#undef MEMPROF_NODE_MEMBER
  bool was_there = false;  // before the addon was loaded
  std::string problem;     // not empty: no function may be called, and this says why
};

// Loaded by the first call; it stays.  Threads: any.
const Library& library();

// What the calling thread allocates meanwhile is the profiler's own, and not sampled.
class Muted {
 public:
  Muted() { library().memprof_backing_begin(); }
  ~Muted() { library().memprof_backing_end(); }
  Muted(const Muted&) = delete;
  Muted& operator=(const Muted&) = delete;
};

}  // namespace memprof::node
