// SPDX-License-Identifier: Apache-2.0
// What a call or a return does, from its bytes (Intel SDM volume 2: "Instruction format", CALL, RET): as much
// of x86-64 as compilers emit for those two.
//
// Signals: reads only its arguments, calls nothing.
#pragma once

#include <ucontext.h>

#include <cstdint>

namespace shadow {

struct Step {
  enum Kind { kUnknown, kCall, kReturn } kind;
  uint64_t target;     // of a call
  uint64_t next;       // the address after a call
  uint64_t pop_bytes;  // of a return, besides its address
};

// Little-endian, from code: not aligned.
[[gnu::always_inline]] inline int64_t signed_bytes(const uint8_t* p, int size) {
  uint64_t value = 0;
  for (int i = 0; i < size; ++i) {
    value |= static_cast<uint64_t>(p[i]) << (8 * i);
  }
  const int unused = 64 - 8 * size;
  return static_cast<int64_t>(value << unused) >> unused;
}

// The operand of `call *operand`, whose ModRM byte is at `code`. `*length` becomes the bytes of ModRM, SIB
// and displacement.
[[gnu::always_inline]] inline uint64_t operand(const uint8_t* code, uint64_t address, uint8_t rex,
                                               const greg_t* registers, int* length) {
  static constexpr uint8_t kRegister[16] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                                            REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                            REG_R12, REG_R13, REG_R14, REG_R15};
  const auto value = [registers](int r) { return static_cast<uint64_t>(registers[kRegister[r]]); };
  const int high_base = (rex & 1) != 0 ? 8 : 0;
  const int high_index = (rex & 2) != 0 ? 8 : 0;
  const int mod = code[0] >> 6;
  const int rm = code[0] & 7;
  if (mod == 3) {
    *length = 1;
    return value(rm | high_base);
  }
  int at = 1;
  uint64_t where = 0;
  int displacement_bytes = mod == 1 ? 1 : mod == 2 ? 4 : 0;
  bool from_next = false;
  if (rm == 4) {
    const uint8_t sib = code[at++];
    const int index = ((sib >> 3) & 7) | high_index;
    if ((sib & 7) == 5 && mod == 0) {
      displacement_bytes = 4;
    } else {
      where = value((sib & 7) | high_base);
    }
    where += index == 4 ? 0 : value(index) << (sib >> 6);
  } else if (rm == 5 && mod == 0) {
    displacement_bytes = 4;
    from_next = true;
  } else {
    where = value(rm | high_base);
  }
  if (displacement_bytes != 0) {
    where += static_cast<uint64_t>(signed_bytes(code + at, displacement_bytes));
    at += displacement_bytes;
  }
  *length = at;
  return *reinterpret_cast<const uint64_t*>(where + (from_next ? address + static_cast<uint64_t>(at) : 0));
}

// The instruction at `address`, whose bytes are at `code`, with these registers.
[[gnu::always_inline]] inline Step decode(const uint8_t* code, uint64_t address, const greg_t* registers) {
  int at = 0;
  uint8_t rex = 0;
  for (; at < 8; ++at) {
    const uint8_t byte = code[at];
    if ((byte & 0xF0) == 0x40) {
      rex = byte;
    } else if (byte != 0x66 && byte != 0x67 && byte != 0xF2 && byte != 0xF3 && byte != 0x2E && byte != 0x3E) {
      break;
    }
  }
  const uint8_t opcode = code[at++];
  const uint64_t after_opcode = address + static_cast<uint64_t>(at);
  Step step{Step::kUnknown, 0, 0, 0};
  if (opcode == 0xE8) {
    step.kind = Step::kCall;
    step.next = after_opcode + 4;
    step.target = step.next + static_cast<uint64_t>(signed_bytes(code + at, 4));
  } else if (opcode == 0xFF && ((code[at] >> 3) & 7) == 2) {
    int length = 0;
    step.kind = Step::kCall;
    step.target = operand(code + at, after_opcode, rex, registers, &length);
    step.next = after_opcode + static_cast<uint64_t>(length);
  } else if (opcode == 0xC3) {
    step.kind = Step::kReturn;
  } else if (opcode == 0xC2) {
    step.kind = Step::kReturn;
    step.pop_bytes = static_cast<uint64_t>(code[at]) | static_cast<uint64_t>(code[at + 1]) << 8;
  }
  return step;
}

}  // namespace shadow
