// SPDX-License-Identifier: Apache-2.0
// derive_rule for x86-64.
#include "unwind/tables/rule_parts.h"

namespace memprof::unwind {
namespace {

// DWARF operations of the expressions that are common enough to have a kind.
enum : uint8_t {
  kDeref = 0x06,
  kAnd = 0x1a,
  kPlus = 0x22,
  kPlusConst = 0x23,
  kShl = 0x24,
  kGe = 0x2a,
  kLit0 = 0x30,
  kBreg0 = 0x70
};
constexpr uint8_t kDwarfRbp = 6;
constexpr uint8_t kDwarfRsp = 7;
constexpr uint8_t kDwarfRip = 16;

// rsp+8 + ((rip & 15) >= 11 ? 8 : 0): what linkers write for .plt.
bool is_plt(Bytes e) {
  static const uint8_t kPattern[] = {kBreg0 + kDwarfRsp, 8,   kBreg0 + kDwarfRip, 0,    kLit0 + 15, kAnd,
                                     kLit0 + 11,         kGe, kLit0 + 3,          kShl, kPlus};
  for (const uint8_t byte : kPattern) {
    if (e.read<uint8_t>() != byte) {
      return false;
    }
  }
  return e.ok() && e.empty();
}

// breg OFFSET; deref; [plus_uconst N]
bool is_slot(Bytes e, uint8_t* dwarf, uint64_t* offset, uint64_t* plus) {
  const uint8_t op = e.read<uint8_t>();
  if (op != kBreg0 + kDwarfRbp && op != kBreg0 + kDwarfRsp) {
    return false;
  }
  *dwarf = op - kBreg0;
  *offset = static_cast<uint64_t>(e.read_sleb());
  *plus = 0;
  if (e.read<uint8_t>() != kDeref) {
    return false;
  }
  if (!e.empty()) {
    if (e.read<uint8_t>() != kPlusConst) {
      return false;
    }
    *plus = e.read_uleb();
  }
  return e.ok() && e.empty();
}

// Is rbp saved where the current rbp points to?  (breg6 0)
bool is_at_bp(const RegisterRule& rule) {
  if (rule.kind != RegisterRule::kAtExpression) {
    return false;
  }
  const uint64_t start = static_cast<uint64_t>(rule.value);
  Bytes e(start, start + rule.length);
  return e.read<uint8_t>() == kBreg0 + kDwarfRbp && e.read_sleb() == 0 && e.ok() && e.empty();
}

Rule derive_from_expression(const Row& row) {
  const Bytes e(row.cfa_expression.start, row.cfa_expression.end);
  const RegisterRule& rbp = row.registers[kRbp];
  if (is_plt(e)) {
    return is_same(rbp) ? Rule{Rule::kPlt, 0, 0} : kComplexRule;
  }
  uint8_t dwarf = 0;
  uint64_t offset = 0;
  uint64_t plus = 0;
  Rule rule{};
  if (!is_slot(e, &dwarf, &offset, &plus)) {
    return kComplexRule;
  }
  if (dwarf == kDwarfRbp && plus == 0 && (is_at_bp(rbp) || is_same(rbp)) &&
      in_words(0 - offset, kMaxA, &rule.a)) {
    rule.kind = Rule::kFromBpSlot;
    rule.b = is_same(rbp) ? 0 : 1;
    return rule;
  }
  if (dwarf == kDwarfRsp && is_same(rbp) && in_words(offset, kMaxA, &rule.a) &&
      in_words(plus, kMaxB, &rule.b)) {
    rule.kind = Rule::kFromSpSlot;
    return rule;
  }
  return kComplexRule;
}

}  // namespace

Rule derive_rule(const Row& row) {
  const RegisterRule& return_address = row.registers[kReturnAddress];
  if (return_address.kind == RegisterRule::kUndefined) {
    return {Rule::kRoot, 0, 0};
  }
  if (row.is_signal_frame) {
    return {Rule::kSignal, 0, 0};
  }
  if (return_address.kind != RegisterRule::kAtCfa ||
      return_address.value != -static_cast<int64_t>(kRuleWord) || !is_same(row.registers[kRsp])) {
    return kComplexRule;
  }
  if (row.cfa_kind == Row::kCfaExpression) {
    return derive_from_expression(row);
  }
  Rule rule{};
  const RegisterRule& rbp = row.registers[kRbp];
  const bool is_known = is_same(rbp) || below_cfa(rbp, &rule.b);
  return is_known && from_register(row, &rule) ? rule : kComplexRule;
}

}  // namespace memprof::unwind
