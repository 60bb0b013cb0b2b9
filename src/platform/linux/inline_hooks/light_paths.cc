// SPDX-License-Identifier: Apache-2.0
// What calls come to each time whose hook is not the fast path (HookSite::always): mostly, to count a size.  Compiled without
// registers of vectors (CMakeLists.txt), because the gate has not saved those yet: nothing here may call what is compiled with them.
#include <new>

#include "core/sampling/sampled_filter.h"
#include "platform/linux/inline_hooks/hooked_call.h"

namespace memprof::platform {
namespace {

constexpr int kSameCalls = 64;

class LightCall : public HookedCall {
 public:
  using HookedCall::HookedCall;

  GateNext before() {
    set_path();
    if (kept_.path != CallPath::kAlways) {
      return GateNext::kFull;
    }
    switch (s_.call) {
      case AllocatorCall::kFree:
        return g_sampled_filter.may_be(block()) ? GateNext::kFull : GateNext::kJump;
      case AllocatorCall::kReallocate:
        if (g_sampled_filter.may_be(block())) {
          return GateNext::kFull;
        }
        break;
      case AllocatorCall::kThrowingAllocate:  // it may come to another hook
      case AllocatorCall::kAllocate:
      case AllocatorCall::kAllocateInto:
        break;
      default:
        return GateNext::kFull;
    }
    if (!find_size()) {
      return GateNext::kJump;
    }
    kept_.is_light = true;
    if (s_.call == AllocatorCall::kThrowingAllocate) {
      note_clock();
    } else {
      kept_.ran_out = sampler_tick(kept_.size);
      kept_.is_muted = true;
      sampler_mute();
      kept_.count = t_sampler.count;
    }
    return GateNext::kCall;
  }

  // false: nothing is left to be done.
  bool after() {
    if (!kept_.is_light) {
      return true;
    }
    if (kept_.is_muted) {
      learn(t_sampler.count != kept_.count);
      sampler_unmute();
      return kept_.ran_out;
    }
    const bool is_seen = is_clock_moved();
    learn(is_seen);
    return !is_seen && sampler_tick(kept_.size);
  }

 private:
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
};

}  // namespace

GateNext light_before(GatedCall* gated) {
  return LightCall(gated, new (gated->kept) Kept).before();
}

bool light_after(GatedCall* gated) {
  return LightCall(gated, reinterpret_cast<Kept*>(gated->kept)).after();
}

}  // namespace memprof::platform
