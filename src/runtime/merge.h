// SPDX-License-Identifier: Apache-2.0
// Frames of a runtime among native ones: each run of them stands where the evaluation loop that executes it
// stands in the native stack; the loop's own frame is left out.
//
// Model: by address.  What the loop keeps on the C stack lies in the memory of one native frame.  So no name
// is asked for, and a stripped interpreter is as good as another.
//     native            runtime          together
//     malloc's caller                    malloc's caller
//     list_append                        list_append
//     [loop]      <---  f, g             f, g
//     vectorcall                         vectorcall
//     [loop]      <---  main             main
//     _start                             _start
// Frames of our own hooks are left out.  Runs whose place is not found, because the native walk ended before,
// come after all native frames.
//
// Threads: any.  Signals: as the runtime's own reads.
// Allocates: never.
#pragma once

#include <cstdint>

#include "runtime/native_stack.h"
#include "unwind/walk/frame_list.h"

namespace memprof::runtimes {

inline constexpr uint32_t kNotFound = UINT32_MAX;

// The native frame, from `from` on, in whose memory `address` lies; kNotFound.  0 lies in none.
uint32_t find_frame(const NativeStack& native, uint64_t address, uint32_t from);

// How an evaluation loop looks in the native stack.
struct Loop {
  bool is_shown;        // its native frames stay
  bool has_tail_calls;  // its instructions are functions that jump to each other: one stands above the loop
};

// Of a run, to the list.  Where there is room, the loop keeps what it needs in registers.
struct AddFrames {
  unwind::FrameList* out;

  bool operator()(uint64_t frame) const { return out->add(frame); }
  bool operator()(const uint64_t* frames, uint32_t count) const {
    uint64_t* next = out->next();
    if (static_cast<size_t>(out->limit() - next) >= count) {
      for (uint32_t i = 0; i < count; ++i) {
        next[i] = frames[i];
      }
      out->advance_to(next + count);
      return true;
    }
    for (uint32_t i = 0; i < count; ++i) {
      if (!out->add(frames[i])) {
        return false;
      }
    }
    return true;
  }
};

// Runs: the runtime's frames, leaf first, in runs, each what one activation of the loop executes.
//     struct Run { uint64_t boundary; ... }   an address in the memory of the loop's native frame; 0: not known
//     bool next(Run*)                         false: there are no more
//     bool each(add)                          calls add(frame word) for each frame of the run, just found, or
//                                             add(frame words, count) for some, until it returns false
template <typename Runs>
[[gnu::always_inline]] inline platform::WalkResult merge_runs(Runs* runs, const Loop& loop,
                                                              const NativeStack& native, uint64_t* frames,
                                                              uint32_t max_depth) {
  unwind::FrameList out(frames, max_depth);
  uint32_t at = 0;
  const auto hooks = reinterpret_cast<uint64_t>(native.code->hooks_start);
  const uint64_t hooks_bytes = reinterpret_cast<uint64_t>(native.code->hooks_limit) - hooks;
  const auto add_native = [&](uint32_t limit) {
    uint64_t* next = out.next();
    const uint64_t* const end = out.limit();
    for (; at < limit && next != end; ++at) {
      *next = native.frames[at];
      next += native.frames[at] - hooks >= hooks_bytes ? 1 : 0;
    }
    out.advance_to(next);
    for (; at < limit; ++at) {
      if (native.frames[at] - hooks >= hooks_bytes && !out.add(native.frames[at])) {
        return false;
      }
    }
    return true;
  };
  typename Runs::Run run;
  while (runs->next(&run)) {
    const uint32_t place = find_frame(native, run.boundary, at);
    const bool is_found = place != kNotFound;
    const uint32_t before = !is_found                           ? native.walk.depth
                            : loop.has_tail_calls && place > at ? place - 1
                                                                : place;
    const uint32_t after = is_found ? place + 1 : native.walk.depth;
    if (!add_native(before) || !runs->each(AddFrames{&out}) || (loop.is_shown && !add_native(after))) {
      return out.end(platform::Walk::kDepthLimit);
    }
    at = after;
  }
  return out.end(add_native(native.walk.depth) ? native.walk.reason : platform::Walk::kDepthLimit);
}

// Native frames alone.
platform::WalkResult leave_native(const NativeStack& native, uint64_t* frames, uint32_t max_depth);

}  // namespace memprof::runtimes
