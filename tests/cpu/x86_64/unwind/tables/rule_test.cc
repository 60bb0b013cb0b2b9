// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/rule.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/engine.h"
#include "tests/unwind/hand_made_tables.h"
#include "tests/unwind/mapped_file.h"
#include "unwind/tables/expression.h"

namespace memprof::rule_test {
namespace {

using namespace unwind;       // NOLINT(google-build-using-namespace)
using namespace unwind_test;  // NOLINT(google-build-using-namespace)
using testing_support::Random;
using testing_support::scaled;

constexpr uint64_t kWord = 8;

// What a frame leads to: the caller's stack pointer, its rbp and the return address.
struct Left {
  uint64_t cfa;
  uint64_t bp;
  uint64_t pc;
  bool operator==(const Left& o) const { return cfa == o.cfa && bp == o.bp && pc == o.pc; }
  friend void PrintTo(const Left& l, std::ostream* out) {
    *out << std::hex << "cfa " << l.cfa << " bp " << l.bp << " pc " << l.pc;
  }
};

// A stack of random words, half of which point into it, so that slots lead somewhere.
class RandomStack {
 public:
  static constexpr uint64_t kWords = 1 << 18;  // 2 MiB: frames can be large
  explicit RandomStack(uint64_t seed) : words_(kWords) {
    Random random(seed);
    for (uint64_t& word : words_) {
      word = random.below(2) == 0 ? random.next() : address(random.below(kWords));
    }
  }
  uint64_t address(uint64_t n) const { return reinterpret_cast<uint64_t>(words_.data() + n); }
  StackMemory memory() const { return StackMemory({address(0), address(kWords), nullptr}); }

 private:
  std::vector<uint64_t> words_;
};

// By the row itself, with the full evaluator.
bool leave_by_row(const Row& row, const RegisterFile& in, const RandomStack& words, Left* left) {
  StackMemory stack = words.memory();
  if (row.cfa_kind == Row::kCfaExpression) {
    if (!evaluate(row.cfa_expression, in, stack, false, 0, &left->cfa)) {
      return false;
    }
  } else if (in.has(row.cfa_register)) {
    left->cfa = in.values[row.cfa_register] + static_cast<uint64_t>(row.cfa_offset);
  } else {
    return false;
  }
  const auto value_of = [&](uint8_t r, uint64_t* value) {
    const RegisterRule& rule = row.registers[r];
    const uint64_t start = static_cast<uint64_t>(rule.value);
    switch (rule.kind) {
      case RegisterRule::kSame:
        *value = in.values[r];
        return true;
      case RegisterRule::kAtCfa:
        return stack.read(left->cfa + static_cast<uint64_t>(rule.value), value);
      case RegisterRule::kAtExpression:
        return evaluate({start, start + rule.length}, in, stack, true, left->cfa, value) &&
               stack.read(*value, value);
      default:
        return false;
    }
  };
  return value_of(kRbp, &left->bp) && value_of(kReturnAddress, &left->pc);
}

// By the rule, as the drawing in rule.h says.
bool leave_by_rule(const Rule& rule, const RegisterFile& in, const RandomStack& words, Left* left) {
  StackMemory stack = words.memory();
  const uint64_t sp = in.values[kRsp];
  const uint64_t bp = in.values[kRbp];
  left->bp = bp;
  switch (rule.kind) {
    case Rule::kFromSp:
      left->cfa = sp + kWord * rule.a;
      break;
    case Rule::kFromBp:
      left->cfa = bp + kWord * rule.a;
      break;
    case Rule::kFromBpSlot:
      if (!stack.read(bp - kWord * rule.a, &left->cfa) || (rule.b != 0 && !stack.read(bp, &left->bp))) {
        return false;
      }
      break;
    case Rule::kFromSpSlot:
      if (!stack.read(sp + kWord * rule.a, &left->cfa)) {
        return false;
      }
      left->cfa += kWord * rule.b;
      break;
    case Rule::kPlt:
      left->cfa = sp + ((in.values[kReturnAddress] & 15) >= 11 ? 16 : 8);
      break;
    default:
      return false;
  }
  const bool bp_at_cfa = rule.kind == Rule::kFromSp || rule.kind == Rule::kFromBp;
  return (!bp_at_cfa || rule.b == 0 || stack.read(left->cfa - kWord * rule.b, &left->bp)) &&
         stack.read(left->cfa - kWord, &left->pc);
}

struct Tally {
  uint64_t kinds[16] = {};
  uint64_t bytes = 0;
  uint64_t complex_bytes = 0;
  uint64_t compared = 0;
};

void compare_at(const MappedFile& file, const RandomStack& words, uint64_t address, uint64_t size,
                Random* random, Tally* tally) {
  Row row{};
  if (find_row(file.image(), address, &row) != Found::kYes) {
    return;
  }
  const Rule rule = derive_rule(row);
  const Rule packed = unpack(pack(rule));
  ASSERT_TRUE(packed.kind == rule.kind && packed.a == rule.a && packed.b == rule.b);
  ++tally->kinds[rule.kind];
  tally->bytes += size;
  tally->complex_bytes += rule.kind == Rule::kComplex ? size : 0;
  ASSERT_NE(Rule::kNone, rule.kind);
  ASSERT_EQ(row.is_signal_frame, rule.kind == Rule::kSignal);
  ASSERT_EQ(row.registers[kReturnAddress].kind == RegisterRule::kUndefined, rule.kind == Rule::kRoot);
  if (rule.kind == Rule::kSignal || rule.kind == Rule::kRoot || rule.kind == Rule::kComplex) {
    return;
  }
  RegisterFile in{};
  for (uint8_t r = 0; r < kRegisters; ++r) {
    in.set(r, words.address(RandomStack::kWords / 4 + random->below(RandomStack::kWords / 4)));
  }
  in.set(kReturnAddress, address);
  Left by_row{};
  Left by_rule{};
  const bool row_ok = leave_by_row(row, in, words, &by_row);
  ASSERT_EQ(row_ok, leave_by_rule(rule, in, words, &by_rule)) << std::hex << address - file.bias();
  if (row_ok) {
    ASSERT_EQ(by_row, by_rule) << std::hex << address - file.bias();
    ++tally->compared;
  }
}

TEST(Rule, MeansWhatTheRowMeansInCodeOfThisMachine) {
  const RandomStack words(7);
  Random random(20250103);
  Tally tally;
  std::set<std::string> files = files_of_this_process();
  files.insert("/usr/bin/node");  // if it is there: code by another compiler
  for (const std::string& path : files) {
    const MappedFile file(path);
    if (!file.ok()) {
      continue;
    }
    SCOPED_TRACE(path);
    const std::vector<uint64_t> starts = file.function_starts();
    const size_t stride = 1 + starts.size() / scaled(10000);
    for (size_t i = 0; i + 1 < starts.size(); i += stride) {
      constexpr uint64_t kStep = 7;  // rows are longer than this, mostly
      for (uint64_t address = starts[i]; address < starts[i + 1] && !HasFatalFailure(); address += kStep) {
        compare_at(file, words, address + file.bias(), kStep, &random, &tally);
      }
    }
  }
  printf("%lu compared, %lu of %lu bytes complex\n", tally.compared, tally.complex_bytes, tally.bytes);
  EXPECT_GT(tally.compared, scaled(500000));
  for (const Rule::Kind kind : {Rule::kFromSp, Rule::kFromBp, Rule::kPlt, Rule::kComplex}) {
    EXPECT_GT(tally.kinds[kind], 0u) << int{kind};
  }
  if (!testing_support::kSanitized) {
    EXPECT_GT(tally.kinds[Rule::kSignal], 0u);
    EXPECT_GT(tally.kinds[Rule::kRoot], 0u);
  }
  // Code with a sanitizer aligns the stack itself, and more of it.
  const double share = testing_support::kSanitized ? 0.03 : 0.01;
  EXPECT_LT(static_cast<double>(tally.complex_bytes), share * static_cast<double>(tally.bytes));
}

// ---- Each kind, from a row
// -----------------------------------------------------------------------------------

Rule derive(const Blob& program, const std::string& augmentation = "zR") {
  Tables tables;
  Cie cie;
  cie.augmentation = augmentation;
  tables.add_fde(tables.add_cie(cie), 0, 64, program);
  Row row{};
  EXPECT_EQ(Found::kYes, find_row(tables.finish(), tables.code(0), &row));
  return derive_rule(row);
}

void expect_rule(Rule::Kind kind, int a, int b, const Rule& rule) {
  EXPECT_EQ(kind, rule.kind);
  EXPECT_EQ(a, rule.a);
  EXPECT_EQ(b, rule.b);
}

TEST(Rule, FromRegisters) {
  expect_rule(Rule::kFromSp, 1, 0, derive({}));
  expect_rule(Rule::kFromSp, 5, 2, derive({0x0e, 40, 0x86, 2}));
  expect_rule(Rule::kFromBp, 2, 2, derive({0x0c, 6, 16, 0x86, 2}));
  expect_rule(Rule::kFromSp, 65535, 1023, derive(join({{0x0e}, uleb(65535 * 8), {0x86}, uleb(1023)})));
}

TEST(Rule, WhatDoesNotFitIsComplex) {
  const Blob rows[] = {
      join({{0x0e}, uleb(65536 * 8)}),  // a is too large
      join({{0x86}, uleb(1024)}),       // b is too large
      join({{0x11, 6}, sleb(INT64_MIN / 8)}),
      join({{0x11, 6}, sleb(INT64_MAX)}),
      join({{0x13}, sleb(INT64_MIN / 8)}),
      join({{0x0f, 12, 0x76}, sleb(INT64_MIN), {0x06}}),
      join({{0x0f, 12, 0x77}, sleb(INT64_MIN), {0x06}}),
      {0x0e, 12},                            // not a multiple of 8
      join({{0x13}, sleb(1)}),               // below the register
      {0x0c, 3, 16},                         // from rbx
      {0x0c, 10, 0},                         // from a register that is not followed
      {0x90, 2},                             // return address elsewhere
      {0x09, 16, 3},                         // in a register
      {0x07, 6},                             // rbp is lost
      {0x09, 6, 3},                          // rbp is in rbx
      {0x10, 6, 2, 0x77, 0},                 // rbp at an expression, CFA from a register
      {0x11, 6, 0x7f},                       // rbp above the CFA
      {0x87, 2},                             // rsp was saved
      {0x14, 7, 1},                          // rsp is not the CFA
      {0x0f, 2, 0x76, 0x78},                 // CFA = rbp - 8
      {0x0f, 4, 0x76, 0x78, 0x06, 0x06},     // two levels
      {0x0f, 3, 0x76, 0x08, 0x06},           // above rbp
      {0x0f, 3, 0x76, 0x7c, 0x06},           // not a multiple of 8
      {0x0f, 3, 0x73, 0x78, 0x06},           // from rbx
      {0x0f, 5, 0x76, 0x78, 0x06, 0x23, 8},  // something is added to the slot of rbp
      {0x0f, 5, 0x77, 0x08, 0x06, 0x23, 4},  // not a multiple of 8
      {0x0f, 3, 0x77, 0x78, 0x06},           // below rsp
      {0x0f, 3, 0x77, 0x08, 0x06, 0x86, 2},  // slot of rsp, and rbp was saved
      {0x0f, 3, 0x76, 0x78, 0x06, 0x86, 2},  // slot of rbp, and rbp at the CFA
      {0x0f, 0},
      {0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x39, 0x2a, 0x33, 0x24, 0x22},  // a PLT of another shape
      {0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22, 0x86, 2},
  };
  for (const Blob& row : rows) {
    expect_rule(Rule::kComplex, 0, 0, derive(row));
    if (HasFailure()) {
      ADD_FAILURE() << testing::PrintToString(row);
    }
  }
}

TEST(Rule, Slots) {
  // gcc's realigned stack: CFA = *(rbp - 8), rbp at rbp.
  expect_rule(Rule::kFromBpSlot, 1, 1, derive({0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0}));
  expect_rule(Rule::kFromBpSlot, 2, 0, derive({0x0f, 3, 0x76, 0x70, 0x06}));
  expect_rule(Rule::kFromBpSlot, 0, 0, derive({0x0f, 3, 0x76, 0x00, 0x06}));
  expect_rule(Rule::kFromSpSlot, 3, 0, derive({0x0f, 3, 0x77, 24, 0x06}));
  expect_rule(Rule::kFromSpSlot, 3, 2, derive({0x0f, 5, 0x77, 24, 0x06, 0x23, 16}));
}

TEST(Rule, SpecialFrames) {
  expect_rule(Rule::kPlt, 0, 0,
              derive({0x0f, 11, 0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22}));
  expect_rule(Rule::kRoot, 0, 0, derive({0x07, 16}));
  expect_rule(Rule::kRoot, 0, 0, derive({0x07, 16, 0x0c, 10, 0}));
  expect_rule(Rule::kSignal, 0, 0, derive({}, "zRS"));
}

TEST(Rule, PackingKeepsEachField) {
  for (int kind = 0; kind <= Rule::kFramePointer; ++kind) {
    for (const int a : {0, 1, 32768, 65535}) {
      for (const int b : {0, 1, 512, 1023}) {
        const uint32_t bits =
            pack({static_cast<Rule::Kind>(kind), static_cast<uint16_t>(a), static_cast<uint16_t>(b)});
        EXPECT_EQ(0u, bits >> kRuleBits);
        expect_rule(static_cast<Rule::Kind>(kind), a, b, unpack(bits));
      }
    }
  }
}

}  // namespace
}  // namespace memprof::rule_test
