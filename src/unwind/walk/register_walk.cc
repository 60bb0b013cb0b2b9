// SPDX-License-Identifier: Apache-2.0
// walk_with_all_registers.
#include "platform/stack.h"
#include "unwind/tables/registered.h"
#include "unwind/walk/step.h"
#include "unwind/walk/table_walk.h"

namespace memprof::unwind {
namespace {

using platform::Walk;
using platform::WalkResult;

enum class Step { kDone, kLeftStack, kBadFrame };

// Where a frame is left to.
struct Caller {
  uint64_t pc;
  uint64_t sp;     // at least
  bool is_pushed;  // its return address was on the stack, or anything was: sp moved
};

// aarch64: x30 is a register of the interrupted function, or what the row says of it; a caller's is unknown.
void take_return_address(RegisterFile* registers, Caller* caller) {
  caller->pc = strip(registers->values[kReturnAddress]);
  if (kHasLinkRegister) {
    registers->forget(kReturnAddress);
  }
}

// aarch64: code without a table leaves the stack pointer unknown; a function that saves x29 and x30 points
// x29 at them.
bool find_cfa(const Row& row, const RegisterFile& registers, uint64_t* cfa) {
  if (registers.has(row.cfa_register)) {
    *cfa = registers.values[row.cfa_register] + static_cast<uint64_t>(row.cfa_offset);
    return true;
  }
  const RegisterRule& frame = row.registers[kFrameRegister];
  if (kHasLinkRegister && row.cfa_register == kStackPointer && registers.has(kFrameRegister) &&
      frame.kind == RegisterRule::kAtCfa && row.registers[kReturnAddress].kind == RegisterRule::kAtCfa) {
    *cfa = registers.values[kFrameRegister] - static_cast<uint64_t>(frame.value);
    return true;
  }
  return false;
}

// Applies a row to all registers.
Step apply(const Row& row, StackMemory& stack, RegisterFile* registers, Caller* caller) {
  uint64_t cfa = 0;
  if (row.cfa_kind == Row::kCfaExpression) {
    if (!evaluate(row.cfa_expression, *registers, stack, false, 0, &cfa)) {
      return Step::kBadFrame;
    }
  } else if (!find_cfa(row, *registers, &cfa)) {
    return Step::kBadFrame;
  }
  RegisterFile next{};
  for (uint8_t r = 0; r < kRegisters; ++r) {
    const RegisterRule& rule = row.registers[r];
    uint64_t value = 0;
    const uint64_t start = static_cast<uint64_t>(rule.value);
    switch (rule.kind) {
      case RegisterRule::kSame:
        if (r == kStackPointer) {
          next.set(r, cfa);
        } else if ((r != kReturnAddress || kHasLinkRegister) && registers->has(r)) {
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
  if (!next.has(kStackPointer) || !next.has(kReturnAddress)) {
    return Step::kBadFrame;
  }
  *registers = next;
  caller->sp = next.values[kStackPointer];
  caller->is_pushed = !kHasLinkRegister || row.registers[kReturnAddress].kind != RegisterRule::kSame;
  take_return_address(registers, caller);
  return Step::kDone;
}

// What the code itself says, which is nothing of registers but the two that lead on.
bool find_code_row(uint64_t address, const Surroundings& surroundings, Row* row) {
  Rule rule{};
  if (surroundings.find_code_rule == nullptr || !surroundings.find_code_rule(address, &rule)) {
    return false;
  }
  *row = {};
  for (RegisterRule& r : row->registers) {
    r.kind = RegisterRule::kUndefined;
  }
  row->cfa_kind = Row::kCfaRegister;
  row->cfa_register = rule.kind == Rule::kFromSp ? kStackPointer : kFrameRegister;
  row->cfa_offset = static_cast<int64_t>(kWord) * rule.a;
  row->registers[kStackPointer].kind = RegisterRule::kSame;
  RegisterRule& frame = row->registers[kFrameRegister];
  frame.kind = rule.b != 0 ? RegisterRule::kAtCfa : RegisterRule::kSame;
  frame.value = -static_cast<int64_t>(kWord) * rule.b;
  if (rule.kind != Rule::kRoot) {
    row->registers[kReturnAddress].kind = RegisterRule::kAtCfa;
    row->registers[kReturnAddress].value = -static_cast<int64_t>(kWord);
  }
  return true;
}

// The signal frame, as the tables of every C library describe it, without their expressions.
Step leave_signal_frame(StackMemory& stack, RegisterFile* registers, Caller* caller) {
  const uint64_t frame = registers->values[kStackPointer];
  RegisterFile next{};
  for (const SignalPlace& place : kSignalPlaces) {
    uint64_t value = 0;
    if (!stack.read(frame + place.offset, &value)) {
      return Step::kLeftStack;
    }
    next.set(place.r, value);
  }
  if (!stack.read(frame + kSignalPc, &caller->pc)) {
    return Step::kLeftStack;
  }
  if (!kHasLinkRegister) {
    next.set(kReturnAddress, caller->pc);
  }
  caller->sp = next.values[kStackPointer];
  *registers = next;
  return Step::kDone;
}

// Code without a table.
void leave_by_record(const FrameRecord& record, RegisterFile* registers, Caller* caller) {
  RegisterFile next{};
  next.set(kFrameRegister, record.bp);
  next.set(kReturnAddress, record.pc);
  caller->sp = record.limit;
  caller->is_pushed = true;
  if (!kHasLinkRegister) {
    next.set(kStackPointer, caller->sp);
  }
  take_return_address(&next, caller);
  *registers = next;
}

}  // namespace

WalkResult walk_with_all_registers(RegisterFile registers, uint64_t first_cfa, const StackBounds& bounds,
                                   const Surroundings& surroundings, uint64_t* frames, uint32_t max_depth,
                                   StackPointers* pointers) {
  StackMemory stack(bounds);
  Frames out(frames, max_depth, surroundings, pointers);
  // Frames of ours below the entry: a handful; what does not get there in so many steps never will.
  int inside_us = 64;
  int stack_changes = 0;
  int jumps = 0;
  uint64_t before_call = 1;
  Caller at{0, registers.values[kStackPointer], true};
  take_return_address(&registers, &at);
  for (;;) {
    const uint64_t sp = at.sp;
    const uint64_t address = at.pc - before_call;
    const bool is_called = before_call != 0;
    before_call = 1;
    Image image;
    Row row;
    const bool is_in_module = surroundings.find_image(address, &image);
    const RegisteredTables::Reading registered(g_registered_tables);  // what the row points to stays
    Found found = is_in_module ? find_row(image, address, &row) : registered.find_row(address, &row);
    if (found == Found::kNo && find_code_row(address, surroundings, &row)) {
      found = Found::kYes;
    }
    Step step;
    bool is_elsewhere = false;
    if (found == Found::kCorrupt) {
      return out.end(Walk::kNoRule);
    }
    if (found == Found::kNo ? is_bare_trampoline(surroundings, at.pc) : row.is_signal_frame) {
      if (!registers.has(kStackPointer)) {
        return out.end(Walk::kNoRule);
      }
      step = leave_signal_frame(stack, &registers, &at);
      before_call = 0;
    } else if (found == Found::kNo) {
      if (is_used_up(stack, sp)) {
        return out.end(Walk::kRoot);
      }
      if (is_called && is_in_module && inside_us == 0 && sp != first_cfa &&
          !surroundings.is_call_site(at.pc)) {
        return out.end(Walk::kRoot);  // made by hand
      }
      FrameRecord record;
      if (!registers.has(kFrameRegister) ||
          !find_frame_record({at.pc, sp, registers.values[kFrameRegister], is_in_module}, surroundings,
                             &stack, &jumps, &record)) {
        return out.end(Walk::kNoRule);
      }
      leave_by_record(record, &registers, &at);
      step = Step::kDone;
      is_elsewhere = record.is_elsewhere;
    } else if (row.registers[kReturnAddress].kind == RegisterRule::kUndefined) {
      return out.end(Walk::kRoot);
    } else {
      step = apply(row, stack, &registers, &at);
    }
    if (step != Step::kDone) {
      return out.end(step == Step::kLeftStack ? Walk::kLeftStack : Walk::kBadFrame);
    }
    const uint64_t next_sp = at.sp;
    const uint64_t pc = at.pc;
    if (next_sp % kWord != 0) {
      return out.end(Walk::kBadFrame);
    }
    if (before_call == 0 && (next_sp <= sp || !stack.contains(next_sp)) &&
        ++stack_changes <= kMaxStackChanges) {
      stack = StackMemory(surroundings.find_stack(next_sp));
    } else if (is_elsewhere) {
      out.note_other_stack();
    } else if (next_sp < sp || (next_sp == sp && at.is_pushed)) {
      return out.end(Walk::kBadFrame);
    } else if (next_sp != sp && !stack.contains(next_sp - kWord)) {
      return out.end(Walk::kLeftStack);
    }
    if (pc == 0) {
      return out.end(Walk::kRoot);
    }
    if (!is_code_address(pc)) {
      return out.end(Walk::kBadFrame);
    }
    if (inside_us > 0 && next_sp < first_cfa) {
      if (--inside_us == 0) {
        return out.end(Walk::kBadFrame);
      }
      continue;
    }
    inside_us = 0;  // a signal handler's stack can lie above the one that it interrupted
    if (before_call == 0) {
      out.note_other_stack();
    }
    if (!out.add(before_call == 0 ? pc + 1 : pc, next_sp)) {
      return out.end(Walk::kDepthLimit);
    }
  }
}

}  // namespace memprof::unwind
