// SPDX-License-Identifier: Apache-2.0
// One step of a walk, by the rule of its frame: leave_common_frames, leave_frame, leave_by, knows_stack_pointer,
// read_signal_frame, is_bare_trampoline.
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

// The way of nearly every frame, as tight as it gets: it is left from sp or bp by a rule that is in the
// cache, and the stack is known that far.  Stops at the first frame that is otherwise; whatever is wrong with
// that one is found out by the caller.
template <bool kWithPointers>
[[gnu::always_inline]] inline void leave_common_frames(const StackMemory& stack, Position* at, Frames* out) {
  const auto word_at = [](uint64_t address) {
    uint64_t word;
    memcpy(&word, reinterpret_cast<const void*>(address), sizeof(word));
    return word;
  };
  const uint64_t low = stack.low();
  const uint64_t high = stack.high();
  Position p = *at;
  uint64_t* next = out->next();
  uint64_t* const limit = out->limit();
  if (p.sp < low || p.sp > high) {
    return;
  }
  uint64_t* pointer = kWithPointers ? out->next_pointer() : nullptr;
  while (next != limit) {
    const uint32_t bits = g_rule_cache.find_bits(p.pc - 1);
    const Rule rule = unpack(bits);
    uint64_t cfa;
    if (rule.kind == Rule::kFromSp) {
      cfa = p.sp + kWord * rule.a;
    } else if (rule.kind == Rule::kFromBp) {
      cfa = p.bp + kWord * rule.a;
    } else {
      break;
    }
    if (cfa > high || cfa < p.sp + kWord || cfa % kWord != 0) {
      break;
    }
    const uint64_t pc = word_at(cfa - kWord);
    if (!is_code_address(pc)) {
      break;
    }
    if (rule.b != 0) {
      if (kWord * rule.b > cfa - low) {
        break;
      }
      p.bp = word_at(cfa - kWord * rule.b);
    }
    p.pc = pc;
    p.sp = cfa;
    if constexpr (kWithPointers) {
      *pointer++ = cfa;
    }
    *next++ = pc;
  }
  out->advance_to(next);
  *at = p;
}

// What a call's return leads to.  false: the walk ends, for this reason.
[[gnu::always_inline]] inline bool leave_frame(const Rule& rule, StackMemory& stack,
                                               const Surroundings& /*surroundings*/, Position* at,
                                               platform::Walk* reason) {
  using platform::Walk;
  Position& p = *at;
  uint64_t cfa = 0;
  bool in_stack = true;
  switch (rule.kind) {
    case Rule::kFromSp:
      cfa = p.sp + kWord * rule.a;
      break;
    case Rule::kFromBp:
      cfa = p.bp + kWord * rule.a;
      break;
    case Rule::kFromBpSlot:
      in_stack = stack.read(p.bp - kWord * rule.a, &cfa);
      break;
    case Rule::kFromSpSlot:
      in_stack = stack.read(p.sp + kWord * rule.a, &cfa);
      cfa += kWord * rule.b;
      break;
    case Rule::kPlt:
      cfa = p.sp + ((p.pc & 15) >= 11 ? 2 * kWord : kWord);
      break;
    default:
      *reason = Walk::kNoRule;
      return false;
  }
  if (!in_stack) {
    *reason = Walk::kLeftStack;
    return false;
  }
  if (cfa < p.sp + kWord || cfa % kWord != 0) {
    *reason = Walk::kBadFrame;
    return false;
  }
  *reason = Walk::kLeftStack;
  uint64_t next = 0;
  if (!stack.read(cfa - kWord, &next)) {
    return false;
  }
  if (rule.kind == Rule::kFromBpSlot) {
    if (rule.b != 0 && !stack.read(p.bp, &p.bp)) {
      return false;
    }
  } else if (rule.kind != Rule::kFromSpSlot && rule.b != 0 && !stack.read(cfa - kWord * rule.b, &p.bp)) {
    return false;
  }
  p.pc = next;
  p.sp = cfa;
  return true;
}

// The same by a frame record.
inline void leave_by(const FrameRecord& record, Position* at) {
  *at = {record.pc, record.limit, record.bp};
}

inline bool knows_stack_pointer(const Position& /*at*/) {
  return true;
}

// What the signal interrupted.
inline bool read_signal_frame(StackMemory& stack, uint64_t context, Position* interrupted) {
  static_assert(kSignalPlaces[1].r == kFrameRegister && kSignalPlaces[2].r == kStackPointer);
  return stack.read(context + kSignalPc, &interrupted->pc) &&
         stack.read(context + kSignalPlaces[2].offset, &interrupted->sp) &&
         stack.read(context + kSignalPlaces[1].offset, &interrupted->bp);
}

// musl's trampoline has no table.
inline bool is_bare_trampoline(const Surroundings& surroundings, uint64_t pc) {
  return surroundings.is_signal_return != nullptr && surroundings.is_signal_return(pc);
}

}  // namespace memprof::unwind
