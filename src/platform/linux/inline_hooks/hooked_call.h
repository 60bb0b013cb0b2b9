// SPDX-License-Identifier: Apache-2.0
// A call of a hooked function that is not on its fast path, as both kinds of slow paths see it: those that need no registers of
// vectors (light_paths.cc), and the others (slow_paths.cc).
//
// Threads: each call is its thread's.
// Allocates: never.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/sampling/sampler.h"
#include "platform/linux/inline_hooks/code/hook_site.h"
#include "platform/linux/inline_hooks/code/register_gate.h"
#include "platform/linux/inline_hooks/code/stubs.h"

namespace memprof::platform {

// What a call keeps while its function runs.
struct Kept {
  CallPath path = CallPath::kSlow;
  bool ran_out = false;
  bool is_light = false;  // the clock has been asked: what is left is to record it
  bool is_muted = false;
  uint64_t size = 0;
  uint64_t token = 0;  // of a reallocation
  SamplingEvent event{};
  // The clock before the call, and its generator: they tell whether another hook saw it.
  uint64_t count = 0;
  uint64_t drawn = 0;
};
static_assert(sizeof(Kept) <= GatedCall::kKeptBytes && alignof(Kept) <= alignof(GatedCall));

class HookedCall {
 public:
  HookedCall(GatedCall* gated, Kept* kept)
      : gated_(*gated),
        kept_(*kept),
        site_(*reinterpret_cast<HookSite*>(gated->site & ~(kPathBits | kRanOut))),
        s_(site_.signature) {}

  // First of all.
  void set_path() {
    gated_.original = site_.original;
    kept_.path = static_cast<CallPath>(gated_.site & kPathBits);
    kept_.ran_out = (gated_.site & kRanOut) != 0;
    if (kept_.path == CallPath::kFirst &&
        site_.heap->state.load(std::memory_order_acquire) == InnerState::kSeen) {
      kept_.path = CallPath::kAlways;
    }
  }

 protected:
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

  // Where a call came to another hook, that one has seen the block.
  void note_clock() {
    kept_.count = t_sampler.count;
    kept_.drawn = t_sampler.random[0];
  }
  bool is_clock_moved() const { return t_sampler.count != kept_.count || t_sampler.random[0] != kept_.drawn; }

  GatedCall& gated_;
  Kept& kept_;
  HookSite& site_;
  const AllocatorSignature& s_;
};

// See GateHandlers.
GateNext light_before(GatedCall* gated);
bool light_after(GatedCall* gated);

}  // namespace memprof::platform
