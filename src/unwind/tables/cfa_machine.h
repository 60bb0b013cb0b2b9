// SPDX-License-Identifier: Apache-2.0
// Runs the programs of a common part and of a frame description (DWARF 5, 6.4.2) up to the row of an address.
// Included by eh_frame.cc only.
//
// Signals, fork: pure; reads the programs only.
// Allocates: never; 1.5 KiB of stack.
// Failure: run() returns false, whatever the bytes are.
#pragma once

#include <cstdint>

#include "unwind/tables/bytes.h"
#include "unwind/tables/eh_frame.h"
#include "unwind/tables/eh_pointer.h"

namespace memprof::unwind {

struct CommonPart {  // what a CIE says
  uint64_t code_alignment = 0;
  int64_t data_alignment = 0;
  uint64_t return_register = 0;
  uint8_t pointer_encoding = kPointer;
  bool is_signal_frame = false;
  bool has_augmentation_data = false;
  Bytes program = Bytes::failed();
};

// The part of a row that DW_CFA_remember_state keeps.
struct CfaState {
  Row::CfaKind cfa_kind;
  uint8_t cfa_register;
  int64_t cfa_offset;
  Expression cfa_expression;
  RegisterRule registers[kRegisters];
};

class CfaMachine {
 public:
  CfaMachine(const CommonPart& common, uint64_t start, uint64_t address, const Bases& bases)
      : common_(common), location_(start), address_(address), bases_(bases) {}

  // Runs a program up to the row of the address.  false: it is corrupt.
  bool run(Bytes program);
  void keep_as_initial() { initial_ = state_; }
  const CfaState& state() const { return state_; }

 private:
  static constexpr int kMaxRemembered = 4;  // compilers write one

  bool advance(uint64_t delta) {  // false: the next row begins above the address
    location_ += delta * common_.code_alignment;
    return location_ <= address_;
  }
  void set(uint64_t dwarf, RegisterRule rule) {
    const uint8_t r = to_register(dwarf);
    if (r != kRegisters) {
      state_.registers[r] = rule;
    }
  }
  static RegisterRule at_cfa(int64_t offset) { return {RegisterRule::kAtCfa, 0, 0, offset}; }
  void set_expression(uint64_t dwarf, RegisterRule::Kind kind, Bytes& program);

  const CommonPart& common_;
  uint64_t location_;
  const uint64_t address_;
  const Bases bases_;
  CfaState state_{};
  CfaState initial_{};
  CfaState remembered_[kMaxRemembered];
  int remembered_count_ = 0;
};

inline void CfaMachine::set_expression(uint64_t dwarf, RegisterRule::Kind kind, Bytes& program) {
  const uint64_t length = program.read_uleb();
  const Bytes expression = program.take(length);
  if (length > UINT16_MAX) {
    program = Bytes::failed();
    return;
  }
  set(dwarf, {kind, static_cast<uint16_t>(length), 0, static_cast<int64_t>(expression.position())});
}

inline bool CfaMachine::run(Bytes program) {
  const int64_t unit = common_.data_alignment;
  const auto scaled = [unit](uint64_t n) { return static_cast<int64_t>(n * static_cast<uint64_t>(unit)); };
  while (!program.empty()) {
    const uint8_t op = program.read<uint8_t>();
    const uint64_t low = op & 0x3f;
    switch (op >> 6) {
      case 1:  // advance_loc
        if (!advance(low)) {
          return program.ok();
        }
        continue;
      case 2:  // offset
        set(low, at_cfa(scaled(program.read_uleb())));
        continue;
      case 3: {  // restore
        const uint8_t r = to_register(low);
        if (r != kRegisters) {
          state_.registers[r] = initial_.registers[r];
        }
        continue;
      }
      default:
        break;
    }
    bool goes_on = true;
    switch (op) {
      case 0x00:  // nop
        break;
      case 0x01:  // set_loc
        location_ = read_pointer(program, common_.pointer_encoding, bases_);
        goes_on = location_ <= address_;
        break;
      case 0x02:  // advance_loc1
        goes_on = advance(program.read<uint8_t>());
        break;
      case 0x03:  // advance_loc2
        goes_on = advance(program.read<uint16_t>());
        break;
      case 0x04:  // advance_loc4
        goes_on = advance(program.read<uint32_t>());
        break;
      case 0x05: {  // offset_extended
        const uint64_t r = program.read_uleb();
        set(r, at_cfa(scaled(program.read_uleb())));
        break;
      }
      case 0x06: {  // restore_extended
        const uint8_t r = to_register(program.read_uleb());
        if (r != kRegisters) {
          state_.registers[r] = initial_.registers[r];
        }
        break;
      }
      case 0x07:  // undefined
        set(program.read_uleb(), {RegisterRule::kUndefined, 0, 0, 0});
        break;
      case 0x08:  // same_value
        set(program.read_uleb(), {RegisterRule::kSame, 0, 0, 0});
        break;
      case 0x09: {  // register
        const uint64_t r = program.read_uleb();
        set(r, {RegisterRule::kInRegister, 0, to_register(program.read_uleb()), 0});
        break;
      }
      case 0x0a:  // remember_state
        if (remembered_count_ == kMaxRemembered) {
          return false;
        }
        remembered_[remembered_count_++] = state_;
        break;
      case 0x0b:  // restore_state
        if (remembered_count_ == 0) {
          return false;
        }
        state_ = remembered_[--remembered_count_];
        break;
      case 0x0c:  // def_cfa
        state_.cfa_kind = Row::kCfaRegister;
        state_.cfa_register = to_register(program.read_uleb());
        state_.cfa_offset = static_cast<int64_t>(program.read_uleb());
        break;
      case 0x0d:  // def_cfa_register
        state_.cfa_kind = Row::kCfaRegister;
        state_.cfa_register = to_register(program.read_uleb());
        break;
      case 0x0e:  // def_cfa_offset
        state_.cfa_offset = static_cast<int64_t>(program.read_uleb());
        break;
      case 0x0f: {  // def_cfa_expression
        const Bytes expression = program.take(program.read_uleb());
        state_.cfa_kind = Row::kCfaExpression;
        state_.cfa_expression = {expression.position(), expression.end()};
        break;
      }
      case 0x10: {  // expression
        const uint64_t r = program.read_uleb();
        set_expression(r, RegisterRule::kAtExpression, program);
        break;
      }
      case 0x11: {  // offset_extended_sf
        const uint64_t r = program.read_uleb();
        set(r, at_cfa(scaled(static_cast<uint64_t>(program.read_sleb()))));
        break;
      }
      case 0x12:  // def_cfa_sf
        state_.cfa_kind = Row::kCfaRegister;
        state_.cfa_register = to_register(program.read_uleb());
        state_.cfa_offset = scaled(static_cast<uint64_t>(program.read_sleb()));
        break;
      case 0x13:  // def_cfa_offset_sf
        state_.cfa_offset = scaled(static_cast<uint64_t>(program.read_sleb()));
        break;
      case 0x14: {  // val_offset
        const uint64_t r = program.read_uleb();
        set(r, {RegisterRule::kCfaPlus, 0, 0, scaled(program.read_uleb())});
        break;
      }
      case 0x15: {  // val_offset_sf
        const uint64_t r = program.read_uleb();
        set(r, {RegisterRule::kCfaPlus, 0, 0, scaled(static_cast<uint64_t>(program.read_sleb()))});
        break;
      }
      case 0x16: {  // val_expression
        const uint64_t r = program.read_uleb();
        set_expression(r, RegisterRule::kExpression, program);
        break;
      }
      case 0x2c:  // AARCH64_negate_ra_state_with_pc
      case 0x2d:  // AARCH64_negate_ra_state: from here on the return address is signed, or no more
        if (!kSignsAddresses) {
          return false;
        }
        break;
      case 0x2e:  // GNU_args_size
        program.read_uleb();
        break;
      case 0x2f: {  // GNU_negative_offset_extended
        const uint64_t r = program.read_uleb();
        set(r, at_cfa(scaled(uint64_t{0} - program.read_uleb())));
        break;
      }
      default:
        return false;
    }
    if (!goes_on) {
      return program.ok();
    }
  }
  return program.ok();
}

}  // namespace memprof::unwind
