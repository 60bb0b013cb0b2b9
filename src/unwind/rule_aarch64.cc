// SPDX-License-Identifier: Apache-2.0
// derive_rule for aarch64.
#include "unwind/rule.h"

#if defined(__aarch64__) || defined(MEMPROF_UNWIND_FOR_AARCH64)

namespace memprof::unwind {
namespace {

constexpr uint64_t kWord = 8;
constexpr uint64_t kMostA = (1 << 16) - 1;
constexpr uint64_t kMostB = (1 << 10) - 1;
constexpr Rule kComplexRule{Rule::kComplex, 0, 0};

// Unsigned, because tables may hold any number: a negative one is too large.
bool in_words(uint64_t offset, uint64_t most, uint16_t* words) {
  if (offset % kWord != 0 || offset / kWord > most) {
    return false;
  }
  *words = static_cast<uint16_t>(offset / kWord);
  return true;
}

// How far below the CFA it was saved.
bool below_cfa(const RegisterRule& rule, uint16_t* words) {
  return rule.kind == RegisterRule::kAtCfa && rule.value < 0 &&
         in_words(0 - static_cast<uint64_t>(rule.value), kMostB, words);
}

bool is_same(const RegisterRule& rule) {
  return rule.kind == RegisterRule::kSame;
}

}  // namespace

Rule derive_rule(const Row& row) {
  const RegisterRule& link = row.registers[kReturnAddress];
  const RegisterRule& frame = row.registers[kFrameRegister];
  if (link.kind == RegisterRule::kUndefined) {
    return {Rule::kRoot, 0, 0};
  }
  if (row.is_signal_frame) {
    return {Rule::kSignal, 0, 0};
  }
  Rule rule{};
  if (row.cfa_kind != Row::kCfaRegister || !is_same(row.registers[kStackPointer]) ||
      !in_words(static_cast<uint64_t>(row.cfa_offset), kMostA, &rule.a)) {
    return kComplexRule;
  }
  if (row.cfa_register == kStackPointer) {
    rule.kind = Rule::kFromSp;
  } else if (row.cfa_register == kFrameRegister) {
    rule.kind = Rule::kFromBp;
  } else {
    return kComplexRule;
  }
  if (is_same(link) && is_same(frame)) {
    return rule;
  }
  uint16_t link_words = 0;
  if (!below_cfa(link, &link_words)) {
    return kComplexRule;
  }
  if (is_same(frame) && rule.kind == Rule::kFromSp) {
    return {Rule::kLinkOnly, rule.a, link_words};
  }
  // x30 behind x29, as stp stores them; so b is 2 at least.
  if (!below_cfa(frame, &rule.b) || rule.b != link_words + 1) {
    return kComplexRule;
  }
  return rule;
}

}  // namespace memprof::unwind
#endif
