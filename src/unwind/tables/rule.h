// SPDX-License-Identifier: Apache-2.0
// How to leave a frame, in 30 bits: what a row of .eh_frame comes down to in all but a few functions.
//
// Model, x86-64: the return address is at CFA - 8, the caller's stack pointer is the CFA; what differs is
// where the CFA is and where the caller's rbp was saved.
//     kFromSp        CFA = sp + 8 a
//     kFromBp        CFA = bp + 8 a
//     kFromBpSlot    CFA = *(bp - 8 a)                stack was realigned
//     kFromSpSlot    CFA = *(sp + 8 a) + 8 b          the same, without a frame pointer; rbp as it is
//     kPlt           CFA = sp + 8 or 16, by where in the 16-byte entry the address is
//     kSignal        registers are in the signal frame above sp
//     kRoot          the outermost frame
//     kComplex       none of these: ask the table again, with all registers (unwind/walk/table_walk.h)
//     kFramePointer  no table: the frame record at bp (unwind/walk/frame_record.h); a = 1: in a
//                    module that has some
// rbp: b = 0: unchanged; else saved at CFA - 8 b (kFromBpSlot: at bp, which b = 1 says).
//
// aarch64: the return address came in x30, and is there until it was saved.
//     kFromSp        CFA = sp + 8 a       b = 0: x29 and x30 are as they were
//     kFromBp        CFA = x29 + 8 a      else saved as a pair at CFA - 8 b: the frame record
//     kLinkOnly      CFA = sp + 8 a; x30 saved at CFA - 8 b, x29 as it was
//     kSignal, kRoot, kComplex            as above
//     kFramePointer                       as above, at x29
//
// Signals, fork: pure.
// Allocates: never.
#pragma once

#include <cstdint>

#include "unwind/tables/eh_frame.h"

namespace memprof::unwind {

struct Rule {
  enum Kind : uint8_t {
    kNone,
    kFromSp,
    kFromBp,
    kFromBpSlot,
    kFromSpSlot,
    kPlt,
    kSignal,
    kRoot,
    kComplex,
    kFramePointer,
    kLinkOnly,
  };
  Kind kind;
  uint16_t a;  // 16 bits: frames of up to 512 KiB
  uint16_t b;  // 10 bits
};

inline constexpr uint32_t kRuleBits = 30;  // a, kind, b, from the low end

inline constexpr uint32_t pack(const Rule& rule) {
  return uint32_t{rule.a} | uint32_t{rule.kind} << 16 | uint32_t{rule.b} << 20;
}

inline constexpr Rule unpack(uint32_t bits) {
  return {static_cast<Rule::Kind>(bits >> 16 & 15), static_cast<uint16_t>(bits),
          static_cast<uint16_t>(bits >> 20 & 0x3ff)};
}

// Of the row that was found for an address.
Rule derive_rule(const Row& row);

}  // namespace memprof::unwind
