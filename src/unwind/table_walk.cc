// SPDX-License-Identifier: Apache-2.0
#include "unwind/table_walk.h"

#include "unwind/frame_list.h"
#include "unwind/rule.h"
#include "unwind/rule_cache.h"

namespace memprof::unwind {
namespace {

using platform::Walk;
using platform::WalkResult;

constexpr uint64_t kWord = 8;
// Code lies between these.  The cache tells addresses apart by their 48 low bits.
constexpr uint64_t kLeastAddress = 4096;
constexpr uint64_t kAddressEnd = uint64_t{1} << 47;
constexpr int kMostStackChanges = 4;  // signal stacks in one walk

// x86-64 Linux: a signal handler returns to a trampoline with sp at the ucontext; these are the places of the
// interrupted registers in it (asm/sigcontext.h behind uc_flags, uc_link, uc_stack).
constexpr uint64_t kContextRegisters = 40;
constexpr uint64_t kContextR12 = kContextRegisters + 4 * kWord;
constexpr uint64_t kContextBp = kContextRegisters + 10 * kWord;
constexpr uint64_t kContextBx = kContextRegisters + 11 * kWord;
constexpr uint64_t kContextSp = kContextRegisters + 15 * kWord;
constexpr uint64_t kContextPc = kContextRegisters + 16 * kWord;

bool is_code_address(uint64_t address) {
  return address - kLeastAddress < kAddressEnd - kLeastAddress;
}

// The first time that an address is seen.
[[gnu::noinline]] Rule derive(uint64_t address, const Surroundings& surroundings, uint32_t ticket) {
  Image image;
  if (!surroundings.find_image(address, &image)) {
    return {Rule::kFramePointer, 0, 0};  // not entered: something may be loaded there later
  }
  Rule rule{};
  Row row;
  switch (find_row(image, address, &row)) {
    case Found::kYes:
      rule = derive_rule(row);
      break;
    case Found::kNo:
      rule = {Rule::kFramePointer, 0, 0};
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

// Collects frames; leaves out those of hooks at the leaf end.
class Frames {
 public:
  Frames(uint64_t* frames, uint32_t max_depth, const Surroundings& surroundings)
      : list_(frames, max_depth), surroundings_(surroundings) {}

  // false: the limit is reached.
  bool add(uint64_t pc) {
    if (at_leaf_ && surroundings_.is_hook(pc)) {
      return true;
    }
    at_leaf_ = false;
    return list_.add(pc);
  }
  WalkResult end(Walk reason) { return list_.end(reason); }

  // For a loop of its own: where the next ones go, if none can be a hook's any more.
  uint64_t* next() const { return list_.next(); }
  uint64_t* limit() const { return at_leaf_ ? next() : list_.limit(); }
  void advance_to(uint64_t* next) { list_.advance_to(next); }

 private:
  FrameList list_;
  const Surroundings& surroundings_;
  bool at_leaf_ = true;
};

// Nothing of the stack is left above this frame: it is the first, whatever the tables do not say of it (the
// loader's entry, which runs the constructors of libraries, has none).
bool is_used_up(const StackMemory& stack, uint64_t sp) {
  return stack.is_whole() && sp >= stack.high();
}

struct Position {
  uint64_t pc, sp, bp;
};

// The way of nearly every frame, as tight as it gets: it is left from sp or bp by a rule that is in the
// cache, and the stack is known that far.  Stops at the first frame that is otherwise; whatever is wrong with
// that one is found out by the caller.
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
    *next++ = pc;
  }
  out->advance_to(next);
  *at = p;
}

struct SignalFrame {
  uint64_t pc, sp, bp;
};

bool read_signal_frame(StackMemory& stack, uint64_t context, SignalFrame* interrupted) {
  return stack.read(context + kContextPc, &interrupted->pc) &&
         stack.read(context + kContextSp, &interrupted->sp) &&
         stack.read(context + kContextBp, &interrupted->bp);
}

}  // namespace

WalkResult walk_by_tables(const Start& start, const StackBounds& bounds, const Surroundings& surroundings,
                          uint64_t* frames, uint32_t max_depth, bool* needs_all_registers) {
  StackMemory stack(bounds);
  Frames out(frames, max_depth, surroundings);
  uint64_t pc = start.pc;
  uint64_t sp = start.sp;
  uint64_t bp = start.bp;
  uint64_t before_call = 1;  // 0 after a signal frame: the address itself was interrupted
  int stack_changes = 0;
  const uint32_t ticket = g_rule_cache.ticket();
  *needs_all_registers = false;
  if (!out.add(pc)) {
    return out.end(Walk::kDepthLimit);
  }
  for (;;) {
    if (before_call != 0 && !RuleCache::is_unloading(ticket)) {
      Position at{pc, sp, bp};
      leave_common_frames(stack, &at, &out);
      pc = at.pc;
      sp = at.sp;
      bp = at.bp;
    }
    const Rule rule = look_up(pc - before_call, surroundings, ticket);
    before_call = 1;
    uint64_t cfa = 0;
    bool in_stack = true;
    switch (rule.kind) {
      case Rule::kFromSp:
        cfa = sp + kWord * rule.a;
        break;
      case Rule::kFromBp:
        cfa = bp + kWord * rule.a;
        break;
      case Rule::kFromBpSlot:
        in_stack = stack.read(bp - kWord * rule.a, &cfa);
        break;
      case Rule::kFromSpSlot:
        in_stack = stack.read(sp + kWord * rule.a, &cfa);
        cfa += kWord * rule.b;
        break;
      case Rule::kPlt:
        cfa = sp + ((pc & 15) >= 11 ? 2 * kWord : kWord);
        break;
      case Rule::kSignal: {
        SignalFrame interrupted;
        if (!read_signal_frame(stack, sp, &interrupted)) {
          return out.end(Walk::kLeftStack);
        }
        if (!is_code_address(interrupted.pc) || interrupted.sp % kWord != 0) {
          return out.end(Walk::kBadFrame);
        }
        if (interrupted.sp <= sp || !stack.contains(interrupted.sp)) {
          // The handler ran on a stack of its own; the interrupted one is elsewhere.
          if (++stack_changes > kMostStackChanges) {
            return out.end(Walk::kLeftStack);
          }
          stack = StackMemory(surroundings.find_stack(interrupted.sp));
        }
        // Frames are return addresses: one is taken away when they are looked up.
        if (!out.add(interrupted.pc + 1)) {
          return out.end(Walk::kDepthLimit);
        }
        pc = interrupted.pc;
        sp = interrupted.sp;
        bp = interrupted.bp;
        before_call = 0;
        continue;
      }
      case Rule::kRoot:
        return out.end(Walk::kRoot);
      case Rule::kComplex:
        *needs_all_registers = true;
        return out.end(Walk::kNoRule);
      case Rule::kFramePointer:
        if (is_used_up(stack, sp)) {
          return out.end(Walk::kRoot);
        }
        if (bp < sp || bp % kWord != 0 || !stack.contains(bp + kWord)) {
          return out.end(Walk::kNoRule);
        }
        cfa = bp + 2 * kWord;
        break;
      case Rule::kNone:
        return out.end(Walk::kNoRule);
    }
    if (!in_stack) {
      return out.end(Walk::kLeftStack);
    }
    if (cfa < sp + kWord || cfa % kWord != 0) {
      return out.end(Walk::kBadFrame);
    }
    uint64_t next = 0;
    if (!stack.read(cfa - kWord, &next)) {
      return out.end(Walk::kLeftStack);
    }
    if (rule.kind == Rule::kFramePointer) {
      if (next != 0 && !surroundings.is_call_site(next)) {
        return out.end(Walk::kNoRule);
      }
      stack.read(bp, &bp);
    } else if (rule.kind == Rule::kFromBpSlot) {
      if (rule.b != 0 && !stack.read(bp, &bp)) {
        return out.end(Walk::kLeftStack);
      }
    } else if (rule.kind != Rule::kFromSpSlot && rule.b != 0 && !stack.read(cfa - kWord * rule.b, &bp)) {
      return out.end(Walk::kLeftStack);
    }
    if (next == 0) {
      return out.end(Walk::kRoot);  // code that ends its stack so, as ABIs ask of the first frame
    }
    if (!is_code_address(next)) {
      return out.end(Walk::kBadFrame);
    }
    pc = next;
    sp = cfa;
    if (!out.add(pc)) {
      return out.end(Walk::kDepthLimit);
    }
  }
}

namespace {

enum class Step { kDone, kLeftStack, kBadFrame };

// Applies a row to all registers.
Step apply(const Row& row, StackMemory& stack, RegisterFile* registers) {
  uint64_t cfa = 0;
  if (row.cfa_kind == Row::kCfaExpression) {
    if (!evaluate(row.cfa_expression, *registers, stack, false, 0, &cfa)) {
      return Step::kBadFrame;
    }
  } else {
    if (!registers->has(row.cfa_register)) {
      return Step::kBadFrame;
    }
    cfa = registers->values[row.cfa_register] + static_cast<uint64_t>(row.cfa_offset);
  }
  RegisterFile next{};
  for (uint8_t r = 0; r < kRegisters; ++r) {
    const RegisterRule& rule = row.registers[r];
    uint64_t value = 0;
    const uint64_t start = static_cast<uint64_t>(rule.value);
    switch (rule.kind) {
      case RegisterRule::kSame:
        if (r == kRsp) {
          next.set(r, cfa);
        } else if (r != kReturnAddress && registers->has(r)) {
          next.set(r, registers->values[r]);
        }
        break;
      case RegisterRule::kUndefined:
        break;
      case RegisterRule::kAtCfa:
        if (!stack.read(cfa + static_cast<uint64_t>(rule.value), &value)) {
          return Step::kLeftStack;
        }
        next.set(r, value);
        break;
      case RegisterRule::kCfaPlus:
        next.set(r, cfa + static_cast<uint64_t>(rule.value));
        break;
      case RegisterRule::kInRegister:
        if (registers->has(rule.source)) {
          next.set(r, registers->values[rule.source]);
        }
        break;
      case RegisterRule::kAtExpression:
      case RegisterRule::kExpression:
        if (evaluate({start, start + rule.length}, *registers, stack, true, cfa, &value) &&
            (rule.kind == RegisterRule::kExpression || stack.read(value, &value))) {
          next.set(r, value);
        }
        break;
    }
  }
  *registers = next;
  return Step::kDone;
}

// The signal frame, as the tables of every C library describe it, without their expressions.
Step leave_signal_frame(StackMemory& stack, RegisterFile* registers) {
  const uint64_t context = registers->values[kRsp];
  RegisterFile next{};
  const struct {
    Register r;
    uint64_t offset;
  } places[] = {{kRbx, kContextBx},
                {kRbp, kContextBp},
                {kRsp, kContextSp},
                {kR12, kContextR12},
                {kR13, kContextR12 + kWord},
                {kR14, kContextR12 + 2 * kWord},
                {kR15, kContextR12 + 3 * kWord},
                {kReturnAddress, kContextPc}};
  for (const auto& place : places) {
    uint64_t value = 0;
    if (!stack.read(context + place.offset, &value)) {
      return Step::kLeftStack;
    }
    next.set(place.r, value);
  }
  *registers = next;
  return Step::kDone;
}

// Code without a table.
Step leave_by_frame_pointer(StackMemory& stack, RegisterFile* registers) {
  const uint64_t bp = registers->values[kRbp];
  uint64_t saved = 0;
  uint64_t pc = 0;
  if (!registers->has(kRbp) || bp < registers->values[kRsp] || bp % kWord != 0 || !stack.read(bp, &saved) ||
      !stack.read(bp + kWord, &pc)) {
    return Step::kBadFrame;
  }
  RegisterFile next{};
  next.set(kRbp, saved);
  next.set(kRsp, bp + 2 * kWord);
  next.set(kReturnAddress, pc);
  *registers = next;
  return Step::kDone;
}

}  // namespace

WalkResult walk_with_all_registers(RegisterFile registers, uint64_t first_cfa, const StackBounds& bounds,
                                   const Surroundings& surroundings, uint64_t* frames, uint32_t max_depth) {
  StackMemory stack(bounds);
  Frames out(frames, max_depth, surroundings);
  // Frames of ours below the entry: a handful; what does not get there in so many steps never will.
  int inside_us = 64;
  int stack_changes = 0;
  uint64_t before_call = 1;
  for (;;) {
    const uint64_t sp = registers.values[kRsp];
    const uint64_t address = registers.values[kReturnAddress] - before_call;
    before_call = 1;
    Image image;
    Row row;
    const Found found =
        surroundings.find_image(address, &image) ? find_row(image, address, &row) : Found::kNo;
    Step step;
    bool by_frame_pointer = false;
    if (found == Found::kCorrupt) {
      return out.end(Walk::kNoRule);
    }
    if (found == Found::kNo) {
      if (is_used_up(stack, sp)) {
        return out.end(Walk::kRoot);
      }
      step = leave_by_frame_pointer(stack, &registers);
      by_frame_pointer = true;
      if (step != Step::kDone) {
        return out.end(Walk::kNoRule);
      }
    } else if (row.registers[kReturnAddress].kind == RegisterRule::kUndefined) {
      return out.end(Walk::kRoot);
    } else if (row.is_signal_frame) {
      step = leave_signal_frame(stack, &registers);
      before_call = 0;
    } else {
      step = apply(row, stack, &registers);
    }
    if (step != Step::kDone) {
      return out.end(step == Step::kLeftStack ? Walk::kLeftStack : Walk::kBadFrame);
    }
    const uint64_t next_sp = registers.values[kRsp];
    const uint64_t pc = registers.values[kReturnAddress];
    if (!registers.has(kRsp) || !registers.has(kReturnAddress) || next_sp % kWord != 0) {
      return out.end(Walk::kBadFrame);
    }
    if (before_call == 0 && (next_sp <= sp || !stack.contains(next_sp)) &&
        ++stack_changes <= kMostStackChanges) {
      stack = StackMemory(surroundings.find_stack(next_sp));
    } else if (next_sp <= sp) {
      return out.end(Walk::kBadFrame);
    } else if (!stack.contains(next_sp - kWord)) {
      return out.end(Walk::kLeftStack);
    }
    if (pc == 0) {
      return out.end(Walk::kRoot);
    }
    if (!is_code_address(pc)) {
      return out.end(Walk::kBadFrame);
    }
    if (by_frame_pointer && !surroundings.is_call_site(pc)) {
      return out.end(Walk::kNoRule);
    }
    if (inside_us > 0 && next_sp < first_cfa) {
      if (--inside_us == 0) {
        return out.end(Walk::kBadFrame);
      }
      continue;
    }
    inside_us = 0;  // a signal handler's stack can lie above the one that it interrupted
    if (!out.add(before_call == 0 ? pc + 1 : pc)) {
      return out.end(Walk::kDepthLimit);
    }
  }
}

}  // namespace memprof::unwind
