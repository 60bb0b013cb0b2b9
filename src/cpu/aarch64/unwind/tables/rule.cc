// SPDX-License-Identifier: Apache-2.0
// derive_rule for aarch64.
#include "unwind/tables/rule_parts.h"

namespace memprof::unwind {

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
  if (!is_same(row.registers[kStackPointer]) || !from_register(row, &rule)) {
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
