// SPDX-License-Identifier: Apache-2.0
// One step of a walk, by the rule of its frame: leave_common_frames, leave_frame, leave_by, knows_stack_pointer,
// read_signal_frame, is_bare_trampoline, kHasWalkMemory.
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
#include "unwind/walk/walk_memory.h"

namespace memprof::unwind {

inline constexpr bool kHasWalkMemory = true;

inline uint64_t stack_word(uint64_t address) {
  uint64_t word;
  memcpy(&word, reinterpret_cast<const void*>(address), sizeof(word));
  return word;
}

// A frame that is left from sp or bp by a rule that is in the cache, on a stack that is known that far.  false: it is
// otherwise, and *p is as it was.  *saved_at: where the caller's bp was, or WalkMemory::kSameBp.
[[gnu::always_inline]] inline bool leave_common_frame(uint64_t low, uint64_t high, Position* p,
                                                      uint64_t* saved_at) {
  const Rule rule = unpack(g_rule_cache.find_bits(p->pc - 1));
  uint64_t cfa;
  if (rule.kind == Rule::kFromSp) {
    cfa = p->sp + kWord * rule.a;
  } else if (rule.kind == Rule::kFromBp) {
    cfa = p->bp + kWord * rule.a;
  } else {
    return false;
  }
  if (cfa > high || cfa < p->sp + kWord || cfa % kWord != 0) {
    return false;
  }
  const uint64_t pc = stack_word(cfa - kWord);
  if (!is_code_address(pc)) {
    return false;
  }
  *saved_at = WalkMemory::kSameBp;
  if (rule.b != 0) {
    if (kWord * rule.b > cfa - low) {
      return false;
    }
    *saved_at = cfa - kWord * rule.b;
    p->bp = stack_word(*saved_at);
  }
  p->pc = pc;
  p->sp = cfa;
  return true;
}

// The way of nearly every frame, as tight as it gets.  Stops at the first frame that is otherwise; whatever is wrong
// with that one is found out by the caller.
template <bool kWithPointers>
[[gnu::always_inline]] inline void leave_common_frames(const StackMemory& stack, Position* at, Frames* out) {
  const uint64_t low = stack.low();
  const uint64_t high = stack.high();
  Position p = *at;
  uint64_t* next = out->next();
  uint64_t* const limit = out->limit();
  if (p.sp < low || p.sp > high) {
    return;
  }
  uint64_t* pointer = kWithPointers ? out->next_pointer() : nullptr;
  uint64_t saved_at;
  while (next != limit && leave_common_frame(low, high, &p, &saved_at)) {
    if constexpr (kWithPointers) {
      *pointer++ = p.sp;
    }
    *next++ = p.pc;
  }
  out->advance_to(next);
  *at = p;
}

// Goes on as the walk before did from its frame `j` on, at which this walk is.  Returns the first frame of that walk that
// it did not come to.
[[gnu::always_inline]] inline uint32_t follow_walk_before(const WalkMemory::Bank& old, uint32_t j,
                                                          uint64_t low, uint64_t high, WalkMemory::Bank* now,
                                                          uint32_t* count, uint32_t limit) {
  const uint32_t i = *count;
  const uint32_t first = ++j;
  const uint32_t end = old.count - first < limit - i ? old.count : first + (limit - i);
  for (; j < end; ++j) {
    const uint64_t cfa = old.stack_pointers[j];
    const uint64_t saved_at = old.saved_at[j];
    if (saved_at == WalkMemory::kNotRemembered || cfa > high || stack_word(cfa - kWord) != old.frames[j] ||
        (saved_at != WalkMemory::kSameBp &&
         (saved_at < low || stack_word(saved_at) != old.frame_pointers[j]))) {
      break;
    }
  }
  const size_t bytes = (j - first) * sizeof(uint64_t);
  memcpy(now->frames + i, old.frames + first, bytes);
  memcpy(now->stack_pointers + i, old.stack_pointers + first, bytes);
  memcpy(now->frame_pointers + i, old.frame_pointers + first, bytes);
  memcpy(now->saved_at + i, old.saved_at + first, bytes);
  *count = i + (j - first);
  return j;
}

// The same, with what is remembered of the walk before.
[[gnu::always_inline]] inline void leave_common_frames(WalkMemory* memory, const StackMemory& stack,
                                                       Position* at, Frames* out) {
  const uint64_t low = stack.low();
  const uint64_t high = stack.high();
  Position p = *at;
  if (p.sp < low || p.sp > high || out->next() == out->limit()) {
    return;
  }
  const WalkMemory::Bank& old = memory->before();
  WalkMemory::Bank& now = memory->now();
  auto i = static_cast<uint32_t>(out->next() - now.frames);
  const auto limit = static_cast<uint32_t>(out->limit() - now.frames);
  uint32_t j = memory->cursor();
  for (;;) {
    while (j < old.count && old.stack_pointers[j] < p.sp) {
      ++j;
    }
    if (j < old.count && old.stack_pointers[j] == p.sp && old.frames[j] == p.pc &&
        old.frame_pointers[j] == p.bp) {
      const uint32_t before = i;
      j = follow_walk_before(old, j, low, high, &now, &i, limit);
      if (i != before) {
        p = {now.frames[i - 1], now.stack_pointers[i - 1], now.frame_pointers[i - 1]};
      }
    }
    uint64_t saved_at;
    if (i == limit || !leave_common_frame(low, high, &p, &saved_at)) {
      break;
    }
    now.frames[i] = p.pc;
    now.stack_pointers[i] = p.sp;
    now.frame_pointers[i] = p.bp;
    now.saved_at[i] = saved_at;
    ++i;
  }
  memory->cursor() = j;
  out->advance_to(now.frames + i);
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
