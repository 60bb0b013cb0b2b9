// SPDX-License-Identifier: Apache-2.0
#include "platform/code/relocation.h"

#include <cstring>

#include <zydis_names.h>
// before the names
#include <Zydis/Decoder.h>

#include "unwind/walk/call_site.h"

namespace memprof::platform {
namespace {

// Writes the copy.
class Copier {
 public:
  Copier(Relocation* to, uint64_t address) : to_(to), address_(address) {}

  uint64_t here() const { return address_ + to_->copy_bytes; }

  void put(const uint8_t* bytes, size_t count) {
    if (to_->copy_bytes + count > kMaxCopyBytes) {
      to_->refusal = Refusal::kUnreadable;
      return;
    }
    memcpy(to_->copy + to_->copy_bytes, bytes, count);
    to_->copy_bytes += static_cast<uint32_t>(count);
  }

  // An instruction of `opcode`, whose last four bytes are the distance from its end to `target`.
  void put_jump(const uint8_t* opcode, size_t opcode_bytes, uint64_t target) {
    const auto distance = static_cast<int64_t>(target - (here() + opcode_bytes + 4));
    const auto near = static_cast<int32_t>(distance);
    if (near != distance) {
      to_->refusal = Refusal::kFar;
      return;
    }
    uint8_t bytes[4];
    memcpy(bytes, &near, sizeof(bytes));
    put(opcode, opcode_bytes);
    put(bytes, sizeof(bytes));
  }

 private:
  Relocation* to_;
  uint64_t address_;
};

bool decode(const ZydisDecoder& decoder, const uint8_t* code, size_t size_bytes,
            ZydisDecodedInstruction* instruction) {
  return ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, nullptr, code, size_bytes, instruction));
}

// The decoder is built without what it knows of kinds of instructions (third_party/CMakeLists.txt).
bool is_call(const ZydisDecodedInstruction& i) {
  return i.mnemonic == ZYDIS_MNEMONIC_CALL;
}

// To an address that stands in the instruction: jumps, calls, loop, jrcxz, xbegin.
bool has_target(const ZydisDecodedInstruction& i) {
  return i.raw.imm[0].size != 0 && i.raw.imm[0].is_relative != 0;
}

// jo to jg: 70 to 7f, 0f 80 to 0f 8f.
bool is_conditional(const ZydisDecodedInstruction& i) {
  return (i.opcode_map == ZYDIS_OPCODE_MAP_DEFAULT && (i.opcode & 0xf0) == 0x70) ||
         (i.opcode_map == ZYDIS_OPCODE_MAP_0F && (i.opcode & 0xf0) == 0x80);
}

uint64_t target_of(const ZydisDecodedInstruction& i, uint64_t address) {
  return address + i.length + static_cast<uint64_t>(i.raw.imm[0].value.s);
}

// Nothing of the function follows.
bool is_end(const ZydisDecodedInstruction& i) {
  return i.mnemonic == ZYDIS_MNEMONIC_RET || i.mnemonic == ZYDIS_MNEMONIC_JMP ||
         i.mnemonic == ZYDIS_MNEMONIC_UD2;
}

bool is_padding(const ZydisDecodedInstruction& i) {
  return i.mnemonic == ZYDIS_MNEMONIC_NOP || i.mnemonic == ZYDIS_MNEMONIC_INT3;
}

// mod 00, r/m 101: a displacement from the instruction pointer.
bool is_relative_to_code(const ZydisDecodedInstruction& i) {
  return i.raw.modrm.offset != 0 && i.raw.modrm.mod == 0 && i.raw.modrm.rm == 5 && i.raw.disp.size == 32;
}

void copy_instruction(const ZydisDecodedInstruction& i, const uint8_t* code, uint64_t address, Copier* copier,
                      Relocation* r) {
  if (is_call(i) || i.mnemonic == ZYDIS_MNEMONIC_SYSCALL) {
    r->refusal = Refusal::kCall;
  } else if (has_target(i) && i.mnemonic == ZYDIS_MNEMONIC_JMP) {
    const uint8_t jump[] = {0xe9};
    copier->put_jump(jump, sizeof(jump), target_of(i, address));
  } else if (has_target(i)) {
    if (!is_conditional(i)) {  // loop, jrcxz: there are no forms that reach farther
      r->refusal = Refusal::kLoop;
      return;
    }
    const uint8_t jump[] = {0x0f, static_cast<uint8_t>(0x80 | (i.opcode & 15))};
    copier->put_jump(jump, sizeof(jump), target_of(i, address));
  } else if (is_relative_to_code(i)) {
    const auto distance =
        static_cast<int64_t>(address + static_cast<uint64_t>(i.raw.disp.value) - copier->here());
    const auto near = static_cast<int32_t>(distance);
    if (near != distance) {
      r->refusal = Refusal::kFar;
      return;
    }
    uint8_t bytes[ZYDIS_MAX_INSTRUCTION_LENGTH];
    memcpy(bytes, code, i.length);
    memcpy(bytes + i.raw.disp.offset, &near, sizeof(near));
    copier->put(bytes, i.length);
  } else {
    copier->put(code, i.length);
  }
}

// Only what may be overwritten follows up to the end of the window.
bool is_padded(const ZydisDecoder& decoder, const uint8_t* code, size_t from, size_t to) {
  ZydisDecodedInstruction i;
  while (from < to) {
    if (!decode(decoder, code + from, ZYDIS_MAX_INSTRUCTION_LENGTH, &i) || !is_padding(i)) {
      return false;
    }
    from += i.length;
  }
  return true;
}

}  // namespace

Relocation relocate(const uint8_t* code, size_t size_bytes, uint64_t address, uint64_t copy_address) {
  Relocation r;
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  ZydisDecodedInstruction i;
  constexpr size_t kMinBytes = 4;
  if (size_bytes >= kMinBytes) {
    r.entry_bytes = static_cast<uint32_t>(unwind::entry_mark_bytes(code));
  }
  Copier copier(&r, copy_address);
  size_t at = r.entry_bytes;
  const size_t limit = at + kJumpBytes;
  bool has_ended = false;
  while (at < limit && !has_ended) {
    if (at >= size_bytes) {
      r.refusal = Refusal::kShort;
      return r;
    }
    if (!decode(decoder, code + at, size_bytes - at, &i)) {
      r.refusal = Refusal::kUnreadable;
      return r;
    }
    copy_instruction(i, code + at, address + at, &copier, &r);
    if (r.refusal != Refusal::kNone) {
      return r;
    }
    has_ended = is_end(i);
    at += i.length;
  }
  r.window_bytes = static_cast<uint32_t>(at - r.entry_bytes);
  if (at < limit && !is_padded(decoder, code, at, limit)) {
    r.refusal = Refusal::kShort;
    return r;
  }
  const uint64_t first = address + r.entry_bytes;
  const uint64_t behind = address + (at < limit ? limit : at);
  // All of the function, also the window itself: a jump to where a hook begins would count a call twice.
  for (size_t o = r.entry_bytes; o < size_bytes; o += i.length) {
    if (!decode(decoder, code + o, size_bytes - o, &i)) {
      r.refusal = Refusal::kUnreadable;
      return r;
    }
    if (has_target(i)) {
      const uint64_t target = target_of(i, address + o);
      const bool is_recursion = is_call(i) && target == address;
      if (target >= address && target < behind && !is_recursion && (target >= first || target == address)) {
        r.refusal = Refusal::kJumpInto;
        return r;
      }
    }
  }
  if (!has_ended) {
    const uint8_t jump[] = {0xe9};
    copier.put_jump(jump, sizeof(jump), address + at);
  }
  return r;
}

bool reaches(const uint8_t* code, size_t size_bytes, uint64_t address, const uint64_t* targets,
             size_t target_count) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  ZydisDecodedInstruction i;
  for (size_t at = 0; at < size_bytes && decode(decoder, code + at, size_bytes - at, &i); at += i.length) {
    for (size_t t = 0; has_target(i) && t < target_count; ++t) {
      if (target_of(i, address + at) == targets[t]) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace memprof::platform
