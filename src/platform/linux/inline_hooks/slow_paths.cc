// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/slow_paths.h"

#include <cerrno>
#include <new>

#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "core/engine/reported.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "platform/clock.h"
#include "platform/linux/inline_hooks/hooked_call.h"
#include "platform/linux/inline_hooks/verification.h"
#include "platform/object_format.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

__thread const InnerHeap* t_trying MEMPROF_TLS_MODEL = nullptr;
__thread uint32_t t_calls_while_trying MEMPROF_TLS_MODEL = 0;

bool allocates(AllocatorCall call) {
  return call == AllocatorCall::kAllocate || call == AllocatorCall::kThrowingAllocate ||
         call == AllocatorCall::kAllocateInto;
}

// What mimalloc tells of a part of a heap begins so.
struct HeapArea {
  const void* blocks;
  size_t reserved_bytes;
};
bool forget_area(const void*, const HeapArea* area, void*, size_t, void*) {
  reported::freed_range(area->blocks, area->reserved_bytes);
  return true;
}

// One call, before its function runs and after that.
class Call : public HookedCall {
 public:
  using HookedCall::HookedCall;

  // false: nothing is left for after().
  bool before() {
    set_path();
    switch (kept_.path) {
      case CallPath::kSlow:
        return before_slow();
      case CallPath::kAlways:
        return before_always();
      default:
        return before_first();
    }
  }

  void after() {
    switch (kept_.path) {
      case CallPath::kSlow:
        return after_slow();
      case CallPath::kAlways:
        return after_always();
      default:
        return after_first();
    }
  }

 private:
  // What an allocating call gave; nullptr: it failed.
  const void* given() const {
    if (s_.call != AllocatorCall::kAllocateInto) {
      return result_block();
    }
    return static_cast<uint32_t>(result()) == 0 ? *reinterpret_cast<void**>(argument(s_.result)) : nullptr;
  }

  reported::Of whose() const {
    return site_.heap->is_mallocs ? reported::Of::kMalloc : reported::Of::kAllocator;
  }

  void look_at_counts() const {
    if (site_.heap->counts.interface != counts::Interface::kNone) {
      counts::ask_when_due(&site_.heap->counts, monotonic_ns(), {frame()});
    }
  }

  void record(const void* block) const {
    const int saved_errno = errno;
    reported::allocated(block, kept_.size, site_.heap->id, {frame()}, whose());
    look_at_counts();
    errno = saved_errno;
  }

  // An exception may pass through the caller: the clock is set before the call.
  void begin_throwing() {
    if (kept_.ran_out) {
      kept_.event = sampler_event(kept_.size);
      sampler_resume(kept_.event);
    }
  }

  void end_throwing() const {
    if (!kept_.ran_out) {
      return;
    }
    const int saved_errno = errno;
    const bool recorded = kept_.event.sampled && result() != 0 &&
                          profiler::record_allocation(reported::key(result_block(), whose()), kept_.size,
                                                      kept_.event.rate_bytes, {frame()}, site_.heap->id);
    profiler::count_cold_path(recorded, 0);
    errno = saved_errno;
  }

  void begin_reallocation() {
    const int saved_errno = errno;
    kept_.token = reported::begin_reallocation(block(), whose());
    errno = saved_errno;
  }

  void end_reallocation(const void* now, bool ran_out) const {
    const int saved_errno = errno;
    reported::reallocated(kept_.token, block(), now, kept_.size, site_.heap->id, ran_out, {frame()}, whose());
    errno = saved_errno;
  }

  void forget_block() const {
    if (g_sampled_filter.may_be(block())) {
      const int saved_errno = errno;
      reported::freed(block(), whose());
      look_at_counts();
      errno = saved_errno;
    }
  }

  void forget_heap() const {
    using Visit =
        bool (*)(uint64_t, bool, bool (*)(const void*, const HeapArea*, void*, size_t, void*), void*);
    if (site_.heap->visit_heap != 0) {
      const int saved_errno = errno;
      reinterpret_cast<Visit>(site_.heap->visit_heap)(argument(s_.heap), false, forget_area, nullptr);
      errno = saved_errno;
    }
  }

  // The clock ran out, or the filter marks the block.
  bool before_slow() {
    if (s_.call == AllocatorCall::kFree) {
      forget_block();
      return false;
    }
    if (!find_size()) {
      kept_.size = UINT64_MAX;  // as the clock was told
    }
    if (s_.call == AllocatorCall::kReallocate) {
      begin_reallocation();
    } else if (s_.call == AllocatorCall::kThrowingAllocate) {
      begin_throwing();
    }
    return true;
  }

  void after_slow() const {
    if (s_.call == AllocatorCall::kReallocate) {
      end_reallocation(result_block(), kept_.ran_out);
    } else if (s_.call == AllocatorCall::kThrowingAllocate) {
      end_throwing();
    } else {
      record(given());
    }
  }

  bool before_always() {
    if (s_.call == AllocatorCall::kFree) {
      forget_block();
      return false;
    }
    if (s_.call == AllocatorCall::kDestroyHeap) {
      forget_heap();
      return false;
    }
    if (!find_size()) {
      return false;
    }
    kept_.ran_out = sampler_tick(kept_.size);
    begin_reallocation();
    if (s_.call == AllocatorCall::kThrowingReallocate) {
      begin_throwing();
    } else if (s_.call == AllocatorCall::kReallocate) {
      kept_.is_muted = true;
      sampler_mute();
    }
    return true;
  }

  void after_always() const {
    if (kept_.is_muted && !kept_.is_light) {
      sampler_unmute();
    }
    switch (s_.call) {
      case AllocatorCall::kThrowingReallocate:
        end_reallocation(result_block(), false);
        end_throwing();
        break;
      case AllocatorCall::kResizeInPlace:
        if (result() >= kept_.size) {
          end_reallocation(block(), kept_.ran_out);
        } else if (kept_.ran_out) {
          record(nullptr);
        }
        break;
      case AllocatorCall::kReallocate:
        end_reallocation(result_block(), kept_.ran_out);
        break;
      default:  // light_paths.cc has asked the clock
        record(given());
    }
  }

  // The first calls.  One of them finds out what the functions are; what it allocated itself is counted then.
  bool before_first() {
    if (t_trying != nullptr && s_.size != kNoArgument && s_.call != AllocatorCall::kFree) {
      ++t_calls_while_trying;
    }
    note_clock();
    // What is asked of the system while it is tried could end a process that has a filter of system calls.
    return site_.heap->state.load(std::memory_order_relaxed) == InnerState::kUntried && allocates(s_.call) &&
           find_size() && !is_sandboxed();
  }

  void after_first() const {
    const void* block = given();
    const bool is_counted = !site_.heap->is_known && is_clock_moved();
    const int saved_errno = errno;
    const bool is_seen_now = block != nullptr && try_allocator(&site_, block, kept_.size);
    errno = saved_errno;
    if (is_seen_now && !is_counted && site_.target.load(std::memory_order_relaxed) != site_.original &&
        sampler_tick(kept_.size)) {
      record(block);
    }
  }
};

bool before(GatedCall* gated) {
  return Call(gated, new (gated->kept) Kept).before();
}

void after(GatedCall* gated) {
  Call(gated, reinterpret_cast<Kept*>(gated->kept)).after();
}

}  // namespace

uint32_t calls_while_trying() {
  return t_calls_while_trying;
}

void set_trying(const InnerHeap* heap) {
  t_trying = heap;
}

uint64_t slow_paths() {
  return prepare_gate({light_before, light_after, before, after}) ? gate_of_functions() : 0;
}

}  // namespace memprof::platform
