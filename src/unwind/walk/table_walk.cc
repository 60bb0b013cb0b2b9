// SPDX-License-Identifier: Apache-2.0
#include "unwind/walk/table_walk.h"

#include "unwind/tables/registered.h"
#include "unwind/walk/step.h"
#include "unwind/walk/walk_memory.h"

namespace memprof::unwind {
namespace {

using platform::Walk;
using platform::WalkResult;

bool find_by_code(uint64_t address, const Surroundings& surroundings, Rule* rule) {
  return surroundings.find_code_rule != nullptr && surroundings.find_code_rule(address, rule);
}

// The first time that an address is seen.
[[gnu::noinline]] Rule derive(uint64_t address, const Surroundings& surroundings, uint32_t ticket) {
  Image image;
  Row row;
  Rule rule{};
  if (!surroundings.find_image(address, &image)) {
    if (!find_registered_rule(address, &row, &rule) && !find_by_code(address, surroundings, &rule)) {
      return {Rule::kFramePointer, 0, 0};  // not entered: something may be loaded there later
    }
    g_rule_cache.enter(address, rule, ticket);
    return rule;
  }
  switch (find_row(image, address, &row)) {
    case Found::kYes:
      rule = derive_rule(row);
      break;
    case Found::kNo:
      if (!find_by_code(address, surroundings, &rule)) {
        rule = {Rule::kFramePointer, 1, 0};
      }
      break;
    case Found::kCorrupt:
      rule = {Rule::kNone, 0, 0};
      break;
  }
  g_rule_cache.enter(address, rule, ticket);
  return rule;
}

inline Rule look_up(uint64_t address, const Surroundings& surroundings, uint32_t ticket) {
  Rule rule{};
  if (!RuleCache::is_unloading(ticket) && g_rule_cache.find(address, &rule)) {
    return rule;
  }
  return derive(address, surroundings, ticket);
}

// Code that no table describes, left by its frame pointer.
[[gnu::noinline]] bool leave_unruled(const Rule& rule, const Surroundings& surroundings, StackMemory* stack,
                                     int* jumps, Position* at) {
  FrameRecord record;
  if (!find_frame_record({at->pc, at->sp, at->bp, rule.a != 0}, surroundings, stack, jumps, &record)) {
    return false;
  }
  leave_by(record, at);
  return true;
}

// The function that was left by its table returns to a place that no call leads to, in a module: somebody
// made the first frame of a stack by hand, as make_fcontext does.
bool is_made_by_hand(const Rule& rule, const Surroundings& surroundings, uint64_t pc) {
  return rule.a != 0 && !surroundings.is_call_site(pc);
}

template <bool kWithPointers>
[[gnu::noinline]] WalkResult walk(const Start& start, const StackBounds& bounds,
                                  const Surroundings& surroundings, uint64_t* frames, uint32_t max_depth,
                                  bool* needs_all_registers, StackPointers* pointers) {
  StackMemory stack(bounds);
  Frames out(frames, max_depth, surroundings, kWithPointers ? pointers : nullptr);
  Position at = start;
  uint64_t before_call = 1;  // 0 after a signal frame: the address itself was interrupted
  int stack_changes = 0;
  int jumps = 0;
  const uint32_t ticket = g_rule_cache.ticket();
  *needs_all_registers = false;
  constexpr bool kUsesMemory = kWithPointers && kHasWalkMemory;
  [[maybe_unused]] WalkMemory* const memory = kUsesMemory ? pointers->memory : nullptr;
  const auto note = [&] {
    if constexpr (kUsesMemory) {
      if (memory != nullptr && out.size() != 0) {
        memory->note(out.size() - 1, at.bp);
      }
    }
  };
  if constexpr (kUsesMemory) {
    if (memory != nullptr) {
      memory->begin(ticket);
    }
  }
  if (!out.add(at.pc, at.sp)) {
    return out.end(Walk::kDepthLimit);
  }
  note();
  for (;;) {
    if (before_call != 0 && !RuleCache::is_unloading(ticket)) {
      if (kUsesMemory && memory != nullptr) {
        leave_common_frames(memory, stack, &at, &out);
      } else {
        leave_common_frames<kWithPointers>(stack, &at, &out);
      }
    }
    const Rule rule = look_up(at.pc - before_call, surroundings, ticket);
    const bool is_called = before_call != 0;
    before_call = 1;
    if (rule.kind == Rule::kSignal ||
        (rule.kind == Rule::kFramePointer && is_bare_trampoline(surroundings, at.pc))) {
      if (!knows_stack_pointer(at)) {
        return out.end(Walk::kNoRule);  // a handler without a table: where the signal frame is, is unknown
      }
      Position interrupted{};
      if (!read_signal_frame(stack, at.sp, &interrupted)) {
        return out.end(Walk::kLeftStack);
      }
      if (!is_code_address(interrupted.pc) || interrupted.sp % kWord != 0) {
        return out.end(Walk::kBadFrame);
      }
      if (interrupted.sp <= at.sp || !stack.contains(interrupted.sp)) {
        // The handler ran on a stack of its own; the interrupted one is elsewhere.
        if (++stack_changes > kMaxStackChanges) {
          return out.end(Walk::kLeftStack);
        }
        stack = StackMemory(surroundings.find_stack(interrupted.sp));
      }
      // Frames are return addresses: one is taken away when they are looked up.
      out.note_other_stack();
      if (!out.add(interrupted.pc + 1, interrupted.sp)) {
        return out.end(Walk::kDepthLimit);
      }
      at = interrupted;
      note();
      before_call = 0;
      continue;
    }
    if (rule.kind == Rule::kRoot || (rule.kind == Rule::kFramePointer && is_used_up(stack, at.sp))) {
      return out.end(Walk::kRoot);
    }
    if (rule.kind == Rule::kComplex) {
      *needs_all_registers = true;
      return out.end(Walk::kNoRule);
    }
    Walk reason;
    if (rule.kind == Rule::kFramePointer) {
      if (is_called && at.sp != start.sp && is_made_by_hand(rule, surroundings, at.pc)) {
        return out.end(Walk::kRoot);
      }
      const int jumps_before = jumps;
      if (!leave_unruled(rule, surroundings, &stack, &jumps, &at)) {
        return out.end(Walk::kNoRule);
      }
      if (jumps != jumps_before) {
        out.note_other_stack();
      }
    } else if (!leave_frame(rule, stack, surroundings, &at, &reason)) {
      return out.end(reason);
    }
    if (at.pc == 0) {
      return out.end(Walk::kRoot);  // code that ends its stack so, as ABIs ask of the first frame
    }
    if (!is_code_address(at.pc)) {
      return out.end(Walk::kBadFrame);
    }
    if (!out.add(at.pc, at.sp)) {
      return out.end(Walk::kDepthLimit);
    }
    note();
  }
}

}  // namespace

WalkResult walk_by_tables(const Start& start, const StackBounds& bounds, const Surroundings& surroundings,
                          uint64_t* frames, uint32_t max_depth, bool* needs_all_registers,
                          StackPointers* pointers) {
  // Two functions: the usual one is as tight as it was.
  return pointers == nullptr
             ? walk<false>(start, bounds, surroundings, frames, max_depth, needs_all_registers, nullptr)
             : walk<true>(start, bounds, surroundings, frames, max_depth, needs_all_registers, pointers);
}

#if MEMPROF_CPU_FINDS_CALLER_BY_TABLES
Start find_caller(Position inside_us, uint64_t hook_frame, const StackBounds& bounds,
                  const Surroundings& surroundings) {
  constexpr int kMaxFramesOfOurs = 64;
  StackMemory stack(bounds);
  const uint32_t ticket = g_rule_cache.ticket();
  Position at = inside_us;
  Walk reason;
  for (int i = 0; i < kMaxFramesOfOurs; ++i) {
    // The hook's frame register points to its record while it calls us.
    const bool is_of_hook = at.bp == hook_frame && surroundings.is_hook(at.pc);
    const Rule rule = look_up(at.pc - 1, surroundings, ticket);
    if (rule.kind == Rule::kFramePointer || !leave_frame(rule, stack, surroundings, &at, &reason) ||
        at.sp <= inside_us.sp || !is_code_address(at.pc)) {
      break;
    }
    if (is_of_hook) {
      return at;
    }
  }
  Start start{0, hook_frame + 2 * kWord, 0};
  start.has_sp = false;
  stack.read(hook_frame, &start.bp);
  stack.read(hook_frame + kWord, &start.pc);
  start.pc = strip(start.pc);
  return start;
}
#endif

}  // namespace memprof::unwind
