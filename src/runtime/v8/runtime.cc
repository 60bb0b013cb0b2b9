// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/runtime.h"

#include "core/engine/facts.h"
#include "core/engine/runtimes.h"
#include "runtime/v8/heap.h"
#include "runtime/v8/heap_options.h"
#include "runtime/v8/isolates.h"
#include "runtime/v8/stacks.h"

namespace memprof::v8 {
namespace {

// Of a process that begins: until its first JavaScript runs, so many allocations are looked at one by one.
constexpr uint32_t kFirstEvents = 32 * 1024;
constexpr uint32_t kObjectsNotSeen = 0;  // MEMPROF_OBJECTS_NONE

bool attach_to(const Engine* found) {
  if (found == nullptr) {
    return false;
  }
  static std::atomic<const Engine*> attached{nullptr};  // relaxed
  if (attached.exchange(found, std::memory_order_relaxed) != found) {
    profiler::note_runtime(kRuntimeId, found->version, kObjectsNotSeen);
    profiler::note_runtime_stacks(kRuntimeId, kStacksUnchecked);
    runtimes::g_events_wanted.store(kFirstEvents, std::memory_order_relaxed);
    runtimes::look_in_events(kRuntime, true);
  }
  return true;
}

bool attach(bool with_objects) {
  sample_heap(with_objects);
  const Engine* const found = find_engine();
  if (found != nullptr && is_heap_left_alone()) {
    leave_heap_alone();
  }
  return attach_to(found);
}

bool enter_module(uint64_t address, bool with_objects) {
  sample_heap(with_objects);
  return engine() == nullptr && attach_to(find_engine_at(address));
}

void reset_in_child() {
  reset_engine_in_child();
  reset_isolates_in_child();
  reset_heap_in_child();
  look_again_in_child();
}

bool count_collections() {
  const Engine* const found = find_engine();
  if (found == nullptr || found->add_collection_callback == nullptr) {
    return false;
  }
  count_collections_of_isolates();
  return true;
}

bool find_thread(runtimes::RunningThread* thread) {
  return thread->set<RunningThread>(kRuntime, running_thread).engine != nullptr;
}

platform::WalkResult merge(const runtimes::RunningThread& thread, const runtimes::NativeStack& native,
                           uint64_t* frames, uint32_t max_depth) {
  return merge_frames(thread.own<RunningThread>(), native, frames, max_depth);
}

// A frame's position is its line: tiers of a function have different code and the same lines.
uint32_t line_at(const uint8_t* /*lines*/, uint64_t /*lines_bytes*/, uint32_t /*first_line*/, uint32_t line) {
  return line;
}

}  // namespace

const runtimes::Runtime kRuntime = {
    kRuntimeId,
    "V8",
    "MEMPROF_NODE",
    "[unknown JavaScript code]",
    attach,
    enter_module,
    look_at_thread,
    suspend_engine,
    resume_engine,
    reset_in_child,
    nullptr,
    show_glue,
    find_thread,
    merge,
    line_at,
    nullptr,
    count_collections,
};

}  // namespace memprof::v8
