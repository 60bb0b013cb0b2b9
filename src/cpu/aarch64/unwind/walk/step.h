// SPDX-License-Identifier: Apache-2.0
// One step of a walk, by the rule of its frame: leave_common_frames, leave_frame, leave_by, knows_stack_pointer,
// read_signal_frame, is_bare_trampoline, kHasWalkMemory.
//
// Model: a frame that code without a table left behind tells where the frame record of its caller is, but not
// the caller's stack pointer.  Functions that save x29 and x30 as a pair point x29 at it, so that the next
// frame with a rule says where the stack pointer is again.
//
// Threads: no state.
// Signals, fork: pure; reads the stack only.
// Allocates: never.
#pragma once

#include <cstring>

#include "platform/stack.h"
#include "unwind/tables/rule.h"
#include "unwind/tables/rule_cache.h"
#include "unwind/walk/frame_record.h"
#include "unwind/walk/frames.h"

namespace memprof::unwind {

class WalkMemory;

// Frame records say where the next one is, so that there is little to remember.
inline constexpr bool kHasWalkMemory = false;
inline void leave_common_frames(WalkMemory* /*memory*/, const StackMemory& /*stack*/, Position* /*at*/,
                                Frames* /*out*/) {}

// The way of nearly every frame, as tight as it gets: it is left from sp or x29 by a rule that is in the
// cache, x29 and x30 were saved as a pair, and the stack is known that far.  Stops at the first frame that is
// otherwise; whatever is wrong with that one is found out by the caller.
template <bool kWithPointers>
[[gnu::always_inline]] inline void leave_common_frames(const StackMemory& stack, Position* at, Frames* out) {
  const uint64_t low = stack.low();
  const uint64_t high = stack.high();
  uint64_t pc = at->pc;
  uint64_t sp = at->sp;
  uint64_t bp = at->bp;
  uint64_t* next = out->next();
  uint64_t* const limit = out->limit();
  if (sp < low || sp > high || !at->has_sp || next == limit) {
    return;
  }
  uint64_t* pointer = kWithPointers ? out->next_pointer() : nullptr;
  while (next != limit) {
    const Rule rule = unpack(g_rule_cache.find_bits(pc - 1));
    uint64_t cfa;
    if (rule.kind == Rule::kFromSp) {
      cfa = sp + kWord * rule.a;
    } else if (rule.kind == Rule::kFromBp) {
      cfa = bp + kWord * rule.a;
    } else {
      break;
    }
    if (cfa > high || cfa <= sp || cfa % kWord != 0 || rule.b < 2 || kWord * rule.b > cfa - low) {
      break;
    }
    uint64_t record[2];
    memcpy(record, reinterpret_cast<const void*>(cfa - kWord * rule.b), sizeof(record));
    const uint64_t caller = strip(record[1]);
    if (!is_code_address(caller)) {
      break;
    }
    pc = caller;
    bp = record[0];
    sp = cfa;
    at->has_link = false;
    if constexpr (kWithPointers) {
      *pointer++ = cfa;
    }
    *next++ = pc;
  }
  out->advance_to(next);
  at->pc = pc;
  at->sp = sp;
  at->bp = bp;
}

// What a call's return leads to.  false: the walk ends, for this reason.
inline bool leave_frame(const Rule& rule, StackMemory& stack, const Surroundings& surroundings, Position* at,
                        platform::Walk* reason) {
  using platform::Walk;
  const Position p = *at;
  const bool is_pair = (rule.kind == Rule::kFromSp || rule.kind == Rule::kFromBp) && rule.b != 0;
  // By the frame record that x29 points at: nothing says that it does, so the code is looked at.
  const bool is_guess = rule.kind == Rule::kFromSp && is_pair && !p.has_sp;
  *reason = is_guess ? Walk::kNoRule : Walk::kBadFrame;
  uint64_t cfa = 0;
  switch (rule.kind) {
    case Rule::kFromSp:
      cfa = p.has_sp ? p.sp + kWord * rule.a : p.bp + kWord * rule.b;
      break;
    case Rule::kFromBp:
      cfa = p.bp + kWord * rule.a;
      break;
    case Rule::kLinkOnly:
      cfa = p.sp + kWord * rule.a;
      break;
    default:
      *reason = Walk::kNoRule;
      return false;
  }
  if (!p.has_sp && !is_pair) {
    *reason = Walk::kNoRule;
    return false;
  }
  if (is_guess && (p.bp < p.sp || p.bp % kWord != 0 || !stack.contains(p.bp + kWord))) {
    return false;
  }
  Position next{p.link, cfa, p.bp};
  const bool is_saved = is_pair || rule.kind == Rule::kLinkOnly;
  // A function that saved nothing is one that was interrupted; it need not have a frame.
  if (cfa % kWord != 0 || cfa < p.sp || (is_saved ? cfa == p.sp : !p.has_link)) {
    return false;
  }
  if (rule.kind == Rule::kLinkOnly) {
    if (!stack.read(cfa - kWord * rule.b, &next.pc)) {
      *reason = Walk::kLeftStack;
      return false;
    }
  } else if (is_saved) {
    const uint64_t record = cfa - kWord * rule.b;
    if (!stack.read(record, &next.bp) || !stack.read(record + kWord, &next.pc)) {
      *reason = Walk::kLeftStack;
      return false;
    }
  }
  next.pc = strip(next.pc);
  if (is_guess && next.pc != 0 && !surroundings.is_call_site(next.pc)) {
    return false;
  }
  next.has_sp = true;
  *at = next;
  return true;
}

// By a frame record: it lies anywhere in its frame.
inline void leave_by(const FrameRecord& record, Position* at) {
  *at = {record.pc, record.limit, record.bp};
  at->has_sp = false;
}

inline bool knows_stack_pointer(const Position& at) {
  return at.has_sp;
}

// What the signal interrupted.
inline bool read_signal_frame(StackMemory& stack, uint64_t frame, Position* interrupted) {
  static_assert(kSignalPlaces[10].r == kFrameRegister && kSignalPlaces[11].r == kReturnAddress &&
                kSignalPlaces[12].r == kStackPointer);
  interrupted->has_link = true;
  interrupted->has_sp = true;
  return stack.read(frame + kSignalPc, &interrupted->pc) &&
         stack.read(frame + kSignalPlaces[10].offset, &interrupted->bp) &&
         stack.read(frame + kSignalPlaces[11].offset, &interrupted->link) &&
         stack.read(frame + kSignalPlaces[12].offset, &interrupted->sp);
}

// The kernel's trampoline has no table: unwinders are meant to know its two instructions.
inline bool is_bare_trampoline(const Surroundings& surroundings, uint64_t pc) {
  return surroundings.is_signal_return(pc);
}

}  // namespace memprof::unwind
