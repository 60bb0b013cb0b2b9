// SPDX-License-Identifier: Apache-2.0
#include "platform/code/code_rule.h"

#include <cstring>

#include <zydis_names.h>
// before the names
#include <Zydis/Decoder.h>

#include "unwind/walk/call_site.h"

namespace memprof::platform {
namespace {

using unwind::Rule;

constexpr int64_t kWord = 8;
constexpr uint64_t kAlignment = 16;  // of functions
constexpr uint8_t kRsp = 4;
constexpr uint8_t kRbp = 5;
constexpr int kMaxInstructions = 1500;
constexpr uint32_t kMaxBranches = 48;

// Where the stack pointer is: so many bytes above what it, or rbp, was at the beginning.
struct Place {
  bool is_from_bp;
  int64_t offset;

  bool operator==(const Place& other) const {
    return is_from_bp == other.is_from_bp && offset == other.offset;
  }
};

struct State {
  Place sp;
  Place saved_bp;  // where the caller's rbp was taken from
  bool has_saved_bp;
};

// A way that is still to be followed, or was.
struct Branch {
  uint64_t target;
  State state;
};

class Follower {
 public:
  Follower(const CodeRange& code, bool (*is_noreturn)(uint64_t)) : code_(code), is_noreturn_(is_noreturn) {
    ZydisDecoderInit(&decoder_, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  }

  bool follow(uint64_t pc, Rule* rule) {
    is_called_ = pc - code_.start >= kWord && unwind::follows_call(reinterpret_cast<const uint8_t*>(pc));
    add(pc, {{false, 0}, {false, 0}, false});
    for (uint32_t i = 0; i < branches_ && !is_contradicted_; ++i) {
      follow_to_end(found_[i].target, found_[i].state);
    }
    if (is_contradicted_ || is_too_long_) {
      return false;
    }
    if (!has_result_) {
      *rule = {Rule::kRoot, 0, 0};
      return never_returns_ && code_.begins_stacks;
    }
    return to_rule(rule);
  }

 private:
  void add(uint64_t target, const State& state) {
    for (uint32_t i = 0; i < branches_; ++i) {
      if (found_[i].target == target) {
        // The rest of the way is the same, so where the stack pointer is must be, too.
        is_contradicted_ = is_contradicted_ || !(found_[i].state.sp == state.sp);
        return;
      }
    }
    if (branches_ == kMaxBranches) {
      is_too_long_ = true;
      return;
    }
    found_[branches_++] = {target, state};
  }

  void follow_to_end(uint64_t at, State state) {
    ZydisDecodedInstruction i;
    while (!is_contradicted_) {
      if (at < code_.start || at >= code_.limit ||
          !ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder_, nullptr, reinterpret_cast<const void*>(at),
                                                      code_.limit - at, &i))) {
        return;  // no code: this way is not taken
      }
      if (++instructions_ > kMaxInstructions) {
        is_too_long_ = true;
        return;
      }
      const bool has_target = i.raw.imm[0].size != 0 && i.raw.imm[0].is_relative != 0;
      const uint64_t next = at + i.length;
      const uint64_t target = next + static_cast<uint64_t>(i.raw.imm[0].value.s);
      switch (i.mnemonic) {
        case ZYDIS_MNEMONIC_RET:
          return take(state);
        case ZYDIS_MNEMONIC_UD2:
        case ZYDIS_MNEMONIC_INT3:
        case ZYDIS_MNEMONIC_HLT:
          return;
        case ZYDIS_MNEMONIC_JMP:
          if (has_target) {
            // Another function goes on where the frame was given back, and leaves the stack as this one would.
            return state.sp.offset > 0 && target % kAlignment == 0 ? take(state) : add(target, state);
          }
          // Another function takes the caller's place: its own frame is given back by then, unless this is a table of
          // jumps inside the function.
          return is_relative_to_code(i) || !is_called_ || state.sp.offset > 0 ? take(state) : void();
        case ZYDIS_MNEMONIC_CALL:
          if (is_noreturn_(callee(i, next, has_target ? target : 0))) {
            never_returns_ = true;
            return;
          }
          break;
        default:
          if (has_target) {
            add(target, state);
          } else if (!apply(i, &state)) {
            is_contradicted_ = true;  // the stack pointer is computed
            return;
          }
      }
      at = next;
    }
  }

  // mod 00, r/m 101: a displacement from the instruction pointer.
  static bool is_relative_to_code(const ZydisDecodedInstruction& i) {
    return i.raw.modrm.offset != 0 && i.raw.modrm.mod == 0 && i.raw.modrm.rm == 5;
  }

  uint64_t word_at(uint64_t address) const {
    uint64_t word;
    memcpy(&word, reinterpret_cast<const void*>(address), sizeof(word));
    return word;
  }

  // By a table of addresses that the loader filled in, too, which lies in the same module.
  uint64_t callee(const ZydisDecodedInstruction& i, uint64_t next, uint64_t target) const {
    if (target == 0) {
      return is_relative_to_code(i) ? word_at(next + static_cast<uint64_t>(i.raw.disp.value)) : 0;
    }
    // A stub is a jump, with or without an endbr64 in front; functions begin with that, too.
    ZydisDecodedInstruction stub;
    uint64_t at = target;
    for (int n = 0; n < 2 && at >= code_.start && at < code_.limit; ++n) {
      if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder_, nullptr, reinterpret_cast<const void*>(at),
                                                      code_.limit - at, &stub))) {
        break;
      }
      at += stub.length;
      if (stub.mnemonic == ZYDIS_MNEMONIC_JMP && is_relative_to_code(stub)) {
        return word_at(at + static_cast<uint64_t>(stub.raw.disp.value));
      }
      if (stub.mnemonic != ZYDIS_MNEMONIC_ENDBR64) {
        break;
      }
    }
    return target;
  }

  static uint8_t reg_of(const ZydisDecodedInstruction& i) {
    return static_cast<uint8_t>(i.raw.modrm.reg | (i.raw.rex.R != 0 ? 8 : 0));
  }
  static uint8_t rm_of(const ZydisDecodedInstruction& i) {
    return static_cast<uint8_t>(i.raw.modrm.rm | (i.raw.rex.B != 0 ? 8 : 0));
  }
  // The place that a memory operand names; false: not by one of the two registers.
  static bool operand(const ZydisDecodedInstruction& i, const State& state, Place* place) {
    const bool has_sib = i.raw.modrm.rm == 4;
    const int64_t disp = i.raw.disp.size != 0 ? i.raw.disp.value : 0;
    if (i.raw.modrm.mod == 3 || i.raw.rex.B != 0) {
      return false;
    }
    if (has_sib && i.raw.sib.base == kRsp && i.raw.sib.index == 4 && i.raw.rex.X == 0) {
      *place = {state.sp.is_from_bp, state.sp.offset + disp};
      return true;
    }
    *place = {true, disp};
    return !has_sib && i.raw.modrm.rm == kRbp && i.raw.modrm.mod != 0;
  }

  // What an instruction does to the stack pointer, and to rbp.  false: what cannot be followed.
  static bool apply(const ZydisDecodedInstruction& i, State* state) {
    const bool is_default = i.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT;
    Place place{};
    switch (i.mnemonic) {
      case ZYDIS_MNEMONIC_POP: {
        const bool is_short = (i.opcode & 0xf8) == 0x58;
        const auto r = static_cast<uint8_t>(is_short ? (i.opcode & 7) | (i.raw.rex.B != 0 ? 8 : 0) : 0xff);
        if (r == kRbp) {
          state->saved_bp = state->sp;
          state->has_saved_bp = true;
        }
        state->sp.offset += kWord;
        return r != kRsp;
      }
      case ZYDIS_MNEMONIC_POPFQ:
        state->sp.offset += kWord;
        return true;
      case ZYDIS_MNEMONIC_PUSH:
      case ZYDIS_MNEMONIC_PUSHFQ:
        state->sp.offset -= kWord;
        return true;
      case ZYDIS_MNEMONIC_LEAVE:
        state->saved_bp = {true, 0};
        state->has_saved_bp = true;
        state->sp = {true, kWord};
        return true;
      case ZYDIS_MNEMONIC_ENTER:
        return false;
      case ZYDIS_MNEMONIC_ADD:
      case ZYDIS_MNEMONIC_SUB:
        if (is_default && (i.opcode == 0x83 || i.opcode == 0x81) && i.raw.modrm.mod == 3 &&
            rm_of(i) == kRsp) {
          const int64_t value = i.raw.imm[0].value.s;
          state->sp.offset += i.mnemonic == ZYDIS_MNEMONIC_ADD ? value : -value;
          return true;
        }
        break;
      case ZYDIS_MNEMONIC_LEA:
        if (reg_of(i) == kRsp) {
          const bool is_known = operand(i, *state, &place);
          state->sp = place;
          return is_known;
        }
        break;
      case ZYDIS_MNEMONIC_MOV:
        // mov %rbp,%rsp in both forms
        if (i.raw.modrm.offset != 0 && i.raw.modrm.mod == 3 && is_default &&
            ((i.opcode == 0x89 && rm_of(i) == kRsp && reg_of(i) == kRbp) ||
             (i.opcode == 0x8b && reg_of(i) == kRsp && rm_of(i) == kRbp))) {
          state->sp = {true, 0};
          return true;
        }
        if (is_default && i.opcode == 0x8b && reg_of(i) == kRbp && operand(i, *state, &place)) {
          state->saved_bp = place;
          state->has_saved_bp = true;
          return true;
        }
        break;
      default:
        break;
    }
    return !writes_stack_pointer(i);
  }

  // In the forms that compilers use: a register operand that is written.
  static bool writes_stack_pointer(const ZydisDecodedInstruction& i) {
    if (i.opcode_map != ZYDIS_OPCODE_MAP_DEFAULT || i.raw.modrm.offset == 0) {
      return false;
    }
    const bool writes_rm = i.opcode == 0x89 || i.opcode == 0x81 || i.opcode == 0x83 || i.opcode == 0x01 ||
                           i.opcode == 0x29 || i.opcode == 0x21 || i.opcode == 0x87;
    const bool is_compare = (i.opcode == 0x81 || i.opcode == 0x83) && i.raw.modrm.reg == 7;
    const bool writes_reg = i.opcode == 0x8b || i.opcode == 0x03 || i.opcode == 0x2b || i.opcode == 0x23;
    return (writes_rm && !is_compare && i.raw.modrm.mod == 3 && rm_of(i) == kRsp) ||
           (writes_reg && reg_of(i) == kRsp);
  }

  void take(const State& state) {
    const bool is_same =
        !has_result_ || (result_.sp == state.sp && result_.has_saved_bp == state.has_saved_bp &&
                         (!state.has_saved_bp || result_.saved_bp == state.saved_bp));
    is_contradicted_ = is_contradicted_ || !is_same;
    result_ = state;
    has_result_ = true;
  }

  bool to_rule(Rule* rule) const {
    constexpr int64_t kMaxWords = 1 << 16;
    const int64_t cfa = result_.sp.offset + kWord;
    const int64_t above_bp = cfa - result_.saved_bp.offset;
    // Who calls has a frame of its own: the stack pointer is aligned there.
    const bool has_frame = result_.sp.is_from_bp || !is_called_ || result_.sp.offset > 0;
    if (!has_frame || cfa <= 0 || cfa % kWord != 0 || cfa / kWord >= kMaxWords ||
        (result_.has_saved_bp && (result_.saved_bp.is_from_bp != result_.sp.is_from_bp || above_bp <= 0 ||
                                  above_bp % kWord != 0 || above_bp / kWord >= 1 << 10))) {
      return false;
    }
    *rule = {result_.sp.is_from_bp ? Rule::kFromBp : Rule::kFromSp, static_cast<uint16_t>(cfa / kWord),
             static_cast<uint16_t>(result_.has_saved_bp ? above_bp / kWord : 0)};
    return true;
  }

  const CodeRange& code_;
  bool (*const is_noreturn_)(uint64_t);
  ZydisDecoder decoder_;
  Branch found_[kMaxBranches];
  uint32_t branches_ = 0;
  int instructions_ = 0;
  State result_{};
  bool has_result_ = false;
  bool is_called_ = false;
  bool never_returns_ = false;
  bool is_contradicted_ = false;
  bool is_too_long_ = false;
};

}  // namespace

bool find_code_rule(uint64_t pc, const CodeRange& code, bool (*is_noreturn)(uint64_t), unwind::Rule* rule) {
  return Follower(code, is_noreturn).follow(pc, rule);
}

}  // namespace memprof::platform
