// SPDX-License-Identifier: Apache-2.0
// What derive_rule (unwind/tables/rule.h) is made of for each processor.
//
// Signals, fork: pure.
// Allocates: never.
#pragma once

#include <cstdint>

#include "unwind/tables/registers.h"
#include "unwind/tables/rule.h"

namespace memprof::unwind {

inline constexpr uint64_t kRuleWord = 8;
inline constexpr uint64_t kMaxA = (1 << 16) - 1;
inline constexpr uint64_t kMaxB = (1 << 10) - 1;
inline constexpr Rule kComplexRule{Rule::kComplex, 0, 0};

// Unsigned, because tables may hold any number: a negative one is too large.
inline bool in_words(uint64_t offset, uint64_t max, uint16_t* words) {
  if (offset % kRuleWord != 0 || offset / kRuleWord > max) {
    return false;
  }
  *words = static_cast<uint16_t>(offset / kRuleWord);
  return true;
}

// How far below the CFA it was saved.
inline bool below_cfa(const RegisterRule& rule, uint16_t* words) {
  return rule.kind == RegisterRule::kAtCfa && rule.value < 0 &&
         in_words(0 - static_cast<uint64_t>(rule.value), kMaxB, words);
}

inline bool is_same(const RegisterRule& rule) {
  return rule.kind == RegisterRule::kSame;
}

// CFA = stack or frame pointer + 8 a: the kind and a.
inline bool from_register(const Row& row, Rule* rule) {
  if (row.cfa_kind != Row::kCfaRegister ||
      !in_words(static_cast<uint64_t>(row.cfa_offset), kMaxA, &rule->a) ||
      (row.cfa_register != kStackPointer && row.cfa_register != kFrameRegister)) {
    return false;
  }
  rule->kind = row.cfa_register == kStackPointer ? Rule::kFromSp : Rule::kFromBp;
  return true;
}

}  // namespace memprof::unwind
