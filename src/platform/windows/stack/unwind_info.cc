// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/stack/unwind_info.h"

#include <cstring>

namespace memprof::platform {
namespace {

// UNWIND_INFO and UNWIND_CODE.
struct Info {
  uint8_t version : 3;
  uint8_t flags : 5;
  uint8_t prolog_bytes;
  uint8_t code_count;
  uint8_t frame_register : 4;
  uint8_t frame_offset : 4;  // of 16 bytes
};
struct Code {
  uint8_t prolog_offset;
  uint8_t operation : 4;
  uint8_t info : 4;
};
static_assert(sizeof(Info) == 4 && sizeof(Code) == 2);

constexpr uint8_t kChained =
    4;  // of flags: behind the codes stands the function whose prolog this goes on from

enum : uint8_t {
  kPush = 0,
  kAllocateLarge = 1,
  kAllocateSmall = 2,
  kSetFrame = 3,
  kSave = 4,
  kSaveFar = 5,
  kEpilog = 6,
  kSpare = 7,
  kSaveXmm = 8,
  kSaveXmmFar = 9,
  kMachineFrame = 10,
};

// Units of two bytes that a code takes; 0: it is not known.
uint32_t units_of(const Code& code) {
  switch (code.operation) {
    case kPush:
    case kAllocateSmall:
    case kSetFrame:
    case kMachineFrame:
      return 1;
    case kAllocateLarge:
      return code.info == 0 ? 2 : 3;
    case kSave:
    case kEpilog:
    case kSaveXmm:
      return 2;
    case kSaveFar:
    case kSpare:
    case kSaveXmmFar:
      return 3;
    default:
      return 0;
  }
}

class Undo {
 public:
  Undo(const StackRange& bounds, FrameRegisters* registers) : bounds_(bounds), r_(*registers) {}

  // `done`: bytes of the prolog that have run; UINT32_MAX: all.
  Step run(const Info& info, const Code* codes, uint32_t done) {
    // What was saved lies from where the frame begins.
    uint64_t frame = r_.words[kRsp];
    if (info.frame_register != 0 && is_frame_set(info, codes, done)) {
      frame = r_.words[info.frame_register] - info.frame_offset * 16u;
    }
    for (uint32_t i = 0; i < info.code_count;) {
      const Code& code = codes[i];
      const uint32_t units = units_of(code);
      if (units == 0 || i + units > info.code_count) {
        return Step::kUnknown;
      }
      if (code.prolog_offset <= done || code.operation == kEpilog) {
        if (const Step step = undo(info, code, codes + i, frame); step != Step::kDone) {
          return step;
        }
      }
      i += units;
    }
    return Step::kDone;
  }

  Step pop(uint64_t* word) {
    if (!read(r_.words[kRsp], word)) {
      return Step::kLeftStack;
    }
    r_.words[kRsp] += sizeof(uint64_t);
    return Step::kDone;
  }

  bool has_return() const { return has_return_; }

 private:
  static bool is_frame_set(const Info& info, const Code* codes, uint32_t done) {
    for (uint32_t i = 0; i < info.code_count;) {
      if (codes[i].operation == kSetFrame) {
        return codes[i].prolog_offset <= done;
      }
      const uint32_t units = units_of(codes[i]);
      i += units != 0 ? units : info.code_count;
    }
    return true;  // the chained part's parent set it
  }

  static uint32_t word_at(const Code* codes, uint32_t unit) {
    uint16_t value;
    memcpy(&value, codes + unit, sizeof(value));
    return value;
  }
  static uint32_t long_at(const Code* codes) { return word_at(codes, 1) | (word_at(codes, 2) << 16); }

  Step undo(const Info& info, const Code& code, const Code* codes, uint64_t frame) {
    uint64_t& rsp = r_.words[kRsp];
    switch (code.operation) {
      case kPush:
        return pop(&r_.words[code.info]);
      case kAllocateLarge:
        rsp += code.info == 0 ? word_at(codes, 1) * 8u : long_at(codes);
        return Step::kDone;
      case kAllocateSmall:
        rsp += code.info * 8u + 8;
        return Step::kDone;
      case kSetFrame:
        rsp = r_.words[info.frame_register] - info.frame_offset * 16u;
        return Step::kDone;
      case kSave:
        return read(frame + word_at(codes, 1) * 8u, &r_.words[code.info]) ? Step::kDone : Step::kLeftStack;
      case kSaveFar:
        return read(frame + long_at(codes), &r_.words[code.info]) ? Step::kDone : Step::kLeftStack;
      case kMachineFrame: {
        const uint64_t at = rsp + (code.info != 0 ? sizeof(uint64_t) : 0);
        has_return_ = true;
        return read(at, &r_.ip) && read(at + 3 * sizeof(uint64_t), &rsp) ? Step::kDone : Step::kLeftStack;
      }
      default:
        return Step::kDone;  // of epilogs, and registers that no frame is found by
    }
  }

  bool read(uint64_t address, uint64_t* word) const {
    if (address % sizeof(uint64_t) != 0 || address < bounds_.low ||
        address + sizeof(uint64_t) > bounds_.high) {
      return false;
    }
    *word = *reinterpret_cast<const uint64_t*>(address);
    return true;
  }

  StackRange bounds_;
  FrameRegisters& r_;
  bool has_return_ = false;
};

}  // namespace

Step unwind_function(uint64_t image, const FunctionRange& function, const StackRange& bounds,
                     FrameRegisters* registers) {
  constexpr int kMaxChain = 32;
  const uint64_t before = registers->words[kRsp];
  Undo undo(bounds, registers);
  FunctionRange part = function;
  auto done = static_cast<uint32_t>(registers->ip - image - part.begin);
  for (int depth = 0; depth < kMaxChain; ++depth) {
    if (part.unwind % 2 != 0) {  // it names another entry of the table
      memcpy(&part, reinterpret_cast<const void*>(image + part.unwind - 1), sizeof(part));
      continue;
    }
    const auto* info = reinterpret_cast<const Info*>(image + part.unwind);
    if (info->version != 1 && info->version != 2) {
      return Step::kUnknown;
    }
    const auto* codes = reinterpret_cast<const Code*>(info + 1);
    if (const Step step = undo.run(*info, codes, done); step != Step::kDone) {
      return step;
    }
    if ((info->flags & kChained) == 0) {
      if (!undo.has_return()) {
        if (const Step step = undo.pop(&registers->ip); step != Step::kDone) {
          return step;
        }
      }
      return registers->words[kRsp] > before ? Step::kDone : Step::kUnknown;
    }
    memcpy(&part, codes + ((info->code_count + 1u) & ~1u), sizeof(part));
    done = UINT32_MAX;
  }
  return Step::kUnknown;
}

}  // namespace memprof::platform
