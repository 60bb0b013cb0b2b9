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
#include "platform/linux/inline_hooks/code/register_gate.h"
#include "platform/linux/inline_hooks/code/stubs.h"
#include "platform/linux/inline_hooks/verification.h"
#include "platform/process.h"

namespace memprof::platform {
namespace {

__thread const InnerHeap* t_trying __attribute__((tls_model("initial-exec"))) = nullptr;
__thread uint32_t t_calls_while_trying __attribute__((tls_model("initial-exec"))) = 0;

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

// What a call keeps while its function runs.
struct Kept {
  CallPath path = CallPath::kSlow;
  bool ran_out = false;
  bool is_muted = false;
  uint64_t size = 0;
  uint64_t token = 0;  // of a reallocation
  SamplingEvent event{};
  // The clock before the call, and its generator: they tell whether another hook saw it.
  uint64_t count = 0;
  uint64_t drawn = 0;
};
static_assert(sizeof(Kept) <= GatedCall::kKeptBytes && alignof(Kept) <= alignof(GatedCall));

constexpr int kSameCalls = 64;

// One call, before its function runs and after that.
class Call {
 public:
  Call(GatedCall* gated, Kept* kept)
      : gated_(*gated),
        kept_(*kept),
        site_(*reinterpret_cast<HookSite*>(gated->site & ~(kPathBits | kRanOut))),
        s_(site_.signature) {}

  // false: nothing is left for after().
  bool before() {
    gated_.original = site_.original;
    kept_.path = static_cast<CallPath>(gated_.site & kPathBits);
    kept_.ran_out = (gated_.site & kRanOut) != 0;
    if (kept_.path == CallPath::kFirst &&
        site_.heap->state.load(std::memory_order_acquire) == InnerState::kSeen) {
      kept_.path = CallPath::kAlways;
    }
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
  uint64_t argument(uint8_t i) const { return gated_.at_entry.arguments[i]; }
  // What it returned.
  uint64_t result() const { return gated_.original; }
  const void* result_block() const { return reinterpret_cast<const void*>(result()); }
  const void* frame() const { return gated_.frame; }

  // false: more than there can be, so that the call fails.
  bool find_size() {
    kept_.size = s_.size != kNoArgument ? argument(s_.size) : 0;
    return s_.size != kNoArgument &&
           (s_.count == kNoArgument || !__builtin_mul_overflow(argument(s_.count), kept_.size, &kept_.size));
  }

  void* block() const { return reinterpret_cast<void*>(argument(s_.block)); }

  // What an allocating call gave; nullptr: it failed.
  const void* given() const {
    if (s_.call != AllocatorCall::kAllocateInto) {
      return result_block();
    }
    return static_cast<uint32_t>(result()) == 0 ? *reinterpret_cast<void**>(argument(s_.result)) : nullptr;
  }

  void look_at_counts() const {
    if (site_.heap->counts.interface != counts::Interface::kNone) {
      counts::ask_when_due(&site_.heap->counts, monotonic_ns());
    }
  }

  void record(const void* block) const {
    const int saved_errno = errno;
    reported::allocated(block, kept_.size, site_.heap->id, {frame()});
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
                          profiler::record_allocation(reported::key(result_block()), kept_.size,
                                                      kept_.event.rate_bytes, {frame()}, site_.heap->id);
    profiler::count_cold_path(recorded, 0);
    errno = saved_errno;
  }

  void begin_reallocation() {
    const int saved_errno = errno;
    kept_.token = reported::begin_reallocation(block());
    errno = saved_errno;
  }

  void end_reallocation(const void* now, bool ran_out) const {
    const int saved_errno = errno;
    reported::reallocated(kept_.token, block(), now, kept_.size, site_.heap->id, ran_out, {frame()});
    errno = saved_errno;
  }

  void forget_block() const {
    if (g_sampled_filter.may_be(block())) {
      const int saved_errno = errno;
      reported::freed(block());
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
    if (s_.call == AllocatorCall::kThrowingAllocate) {  // it may come to another hook
      note_clock();
      return true;
    }
    kept_.ran_out = sampler_tick(kept_.size);
    switch (s_.call) {
      case AllocatorCall::kThrowingReallocate:
        begin_reallocation();
        begin_throwing();
        break;
      case AllocatorCall::kResizeInPlace:
        begin_reallocation();
        break;
      case AllocatorCall::kReallocate:
        begin_reallocation();
        [[fallthrough]];
      default:
        kept_.is_muted = true;
        sampler_mute();
        kept_.count = t_sampler.count;
    }
    return true;
  }

  // A function that is never tried shows by the program's own calls whether it comes to other hooks: each moves the clock, a
  // muted one, too.  A local one of a known allocator has its fast path if some calls in a row came to none; one of an unknown
  // allocator is left to the others if some came to them.
  void learn(bool came_to_another) const {
    const bool is_known = site_.heap->is_known;
    if (is_known && !site_.is_local) {
      return;
    }
    const bool is_one_more = came_to_another != is_known;
    const int calls = is_one_more ? site_.same_calls.load(std::memory_order_relaxed) + 1 : 0;
    site_.same_calls.store(static_cast<uint8_t>(calls), std::memory_order_relaxed);
    if (calls == kSameCalls) {
      site_.target.store(is_known ? site_.fast : site_.original, std::memory_order_relaxed);
    }
  }

  // Where a call came to another hook, that one has seen the block.
  void note_clock() {
    kept_.count = t_sampler.count;
    kept_.drawn = t_sampler.random[0];
  }
  bool is_clock_moved() const { return t_sampler.count != kept_.count || t_sampler.random[0] != kept_.drawn; }

  void after_always() const {
    if (kept_.is_muted) {
      learn(t_sampler.count != kept_.count);
      sampler_unmute();
    }
    switch (s_.call) {
      case AllocatorCall::kThrowingAllocate:
        learn(is_clock_moved());
        if (!is_clock_moved() && sampler_tick(kept_.size)) {
          record(result_block());
        }
        break;
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
      default:
        if (kept_.ran_out) {
          record(given());
        }
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

  GatedCall& gated_;
  Kept& kept_;
  HookSite& site_;
  const AllocatorSignature& s_;
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
  return prepare_gate({before, after}) ? gate_of_functions() : 0;
}

}  // namespace memprof::platform
