// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/expression.h"

#include <gtest/gtest.h>

#include "tests/support/engine.h"
#include "tests/unwind/hand_made_tables.h"

namespace memprof::expression_test {
namespace {

using namespace unwind;       // NOLINT(google-build-using-namespace)
using namespace unwind_test;  // NOLINT(google-build-using-namespace)
using testing_support::Random;
using testing_support::scaled;

constexpr uint64_t kAllOnes = ~uint64_t{0};

class ExpressionTest : public ::testing::Test {
 protected:
  // Registers hold 1000, 1100, ...; the return address is not known.
  ExpressionTest() {
    for (uint8_t r = 0; r < kReturnAddress; ++r) {
      registers_.set(r, 1000 + 100 * r);
    }
  }

  // What it evaluates to; ok() false: nothing.
  struct Result {
    bool ok;
    uint64_t value;
    bool operator==(const Result& o) const { return ok == o.ok && (!ok || value == o.value); }
    friend void PrintTo(const Result& r, std::ostream* out) {
      *out << (r.ok ? "" : "nothing, ") << static_cast<int64_t>(r.value);
    }
  };
  Result run(const Blob& code, bool push_cfa = false, uint64_t cfa = 0) {
    // A copy of just that size, on the heap: a read of one byte too many is seen by AddressSanitizer.
    const Blob copy(code.begin(), code.end());
    const uint64_t start = reinterpret_cast<uint64_t>(copy.data());
    StackMemory stack({reinterpret_cast<uint64_t>(words_), reinterpret_cast<uint64_t>(words_ + 4), nullptr});
    Result result{};
    result.ok = evaluate({start, start + copy.size()}, registers_, stack, push_cfa, cfa, &result.value);
    return result;
  }
  static Result is(uint64_t value) { return {true, value}; }
  static Result is_signed(int64_t value) { return {true, static_cast<uint64_t>(value)}; }
  static Result nothing() { return {false, 0}; }

  static Blob number(int64_t n) { return join({{0x11}, sleb(n)}); }  // consts
  Result binary(uint8_t op, int64_t a, int64_t b) { return run(join({number(a), number(b), {op}})); }
  Result unary(uint8_t op, int64_t a) { return run(join({number(a), {op}})); }

  uint64_t words_[4] = {0x1122334455667788, kAllOnes, 42, 0};
  RegisterFile registers_{};
};

TEST_F(ExpressionTest, Constants) {
  const uint64_t big = 0xfedcba9876543210;
  EXPECT_EQ(is(big), run(join({{0x03}, raw(big)})));  // addr
  EXPECT_EQ(is(0xfe), run({0x08, 0xfe}));
  EXPECT_EQ(is_signed(-2), run({0x09, 0xfe}));
  EXPECT_EQ(is(0xfffe), run({0x0a, 0xfe, 0xff}));
  EXPECT_EQ(is_signed(-2), run({0x0b, 0xfe, 0xff}));
  EXPECT_EQ(is(0xfffffffe), run({0x0c, 0xfe, 0xff, 0xff, 0xff}));
  EXPECT_EQ(is_signed(-2), run({0x0d, 0xfe, 0xff, 0xff, 0xff}));
  EXPECT_EQ(is(big), run(join({{0x0e}, raw(big)})));
  EXPECT_EQ(is(big), run(join({{0x0f}, raw(big)})));
  EXPECT_EQ(is(624485), run({0x10, 0xe5, 0x8e, 0x26}));
  EXPECT_EQ(is_signed(-123456), run({0x11, 0xc0, 0xbb, 0x78}));
  EXPECT_EQ(is(kAllOnes), run(join({{0x10}, uleb(kAllOnes)})));
  EXPECT_EQ(is(uint64_t{1} << 63), run(join({{0x11}, sleb(INT64_MIN)})));
  for (uint8_t n = 0; n < 32; ++n) {
    EXPECT_EQ(is(n), run({static_cast<uint8_t>(0x30 + n)}));
  }
}

TEST_F(ExpressionTest, Registers) {
  const struct {
    uint8_t dwarf;
    Register r;
  } known[] = {{3, kRbx}, {6, kRbp}, {7, kRsp}, {12, kR12}, {13, kR13}, {14, kR14}, {15, kR15}};
  for (uint8_t dwarf = 0; dwarf < 32; ++dwarf) {
    Result expected = nothing();
    Result expected_wide = nothing();
    for (const auto& k : known) {
      if (k.dwarf == dwarf) {
        expected = is(registers_.values[k.r] - 16);
        expected_wide = is(registers_.values[k.r] + 100000);
      }
    }
    EXPECT_EQ(expected, run({static_cast<uint8_t>(0x70 + dwarf), 0x70})) << int{dwarf};
    EXPECT_EQ(expected_wide, run(join({{0x92}, uleb(dwarf), sleb(100000)}))) << int{dwarf};  // bregx
  }
  EXPECT_EQ(nothing(), run(join({{0x92}, uleb(kAllOnes), sleb(0)})));
  registers_.set(kReturnAddress, 5000);
  EXPECT_EQ(is(5001), run({0x70 + 16, 1}));
}

TEST_F(ExpressionTest, Memory) {
  const int64_t at = reinterpret_cast<int64_t>(words_);
  EXPECT_EQ(is(words_[0]), unary(0x06, at));
  EXPECT_EQ(is(42), unary(0x06, at + 16));
  EXPECT_EQ(is(0xff11223344556677), unary(0x06, at + 1));  // need not be aligned
  EXPECT_EQ(nothing(), unary(0x06, at + 25));
  EXPECT_EQ(nothing(), unary(0x06, at - 1));
  EXPECT_EQ(nothing(), unary(0x06, 0));
  EXPECT_EQ(nothing(), unary(0x06, -4));
  EXPECT_EQ(nothing(), run({0x06}));
  EXPECT_EQ(is(0x88), run(join({number(at), {0x94, 1}})));  // deref_size
  EXPECT_EQ(is(0x7788), run(join({number(at), {0x94, 2}})));
  EXPECT_EQ(is(0x55667788), run(join({number(at), {0x94, 4}})));
  EXPECT_EQ(is(words_[0]), run(join({number(at), {0x94, 8}})));
  EXPECT_EQ(nothing(), run(join({number(at), {0x94, 0}})));
  EXPECT_EQ(nothing(), run(join({number(at), {0x94, 9}})));
}

TEST_F(ExpressionTest, OperandStack) {
  EXPECT_EQ(is(10), run({0x35, 0x12, 0x22}));              // 5 dup plus
  EXPECT_EQ(is(3), run({0x33, 0x34, 0x13}));               // 3 4 drop
  EXPECT_EQ(is(7), run({0x37, 0x38, 0x14}));               // 7 8 over
  EXPECT_EQ(is(1), run({0x31, 0x32, 0x33, 0x15, 2}));      // 1 2 3 pick 2
  EXPECT_EQ(is(3), run({0x31, 0x32, 0x33, 0x15, 0}));      // pick 0
  EXPECT_EQ(is_signed(1), run({0x32, 0x33, 0x16, 0x1c}));  // 2 3 swap minus
  EXPECT_EQ(is(4), run({0x34, 0x96}));                     // nop
  EXPECT_EQ(nothing(), run({0x12}));
  EXPECT_EQ(nothing(), run({0x13}));
  EXPECT_EQ(nothing(), run({0x31, 0x14}));
  EXPECT_EQ(nothing(), run({0x31, 0x15, 1}));
  EXPECT_EQ(nothing(), run({0x31, 0x16}));
  EXPECT_EQ(nothing(), run({}));
  EXPECT_EQ(is(77), run({}, true, 77));
  EXPECT_EQ(is(80), run({0x33, 0x22}, true, 77));
}

TEST_F(ExpressionTest, Arithmetic) {
  EXPECT_EQ(is(0b1000), binary(0x1a, 0b1100, 0b1010));
  EXPECT_EQ(is_signed(-1), binary(0x1c, 4, 5));
  EXPECT_EQ(is_signed(-20), binary(0x1e, -4, 5));
  EXPECT_EQ(is(0b1110), binary(0x21, 0b1100, 0b1010));
  EXPECT_EQ(is_signed(INT64_MIN), binary(0x22, INT64_MAX, 1));  // wraps
  EXPECT_EQ(is(40), binary(0x24, 5, 3));
  EXPECT_EQ(is(kAllOnes >> 4), binary(0x25, -1, 4));
  EXPECT_EQ(is_signed(-2), binary(0x26, -8, 2));
  EXPECT_EQ(is(0b0110), binary(0x27, 0b1100, 0b1010));
  // A shift by the word's size and more.
  EXPECT_EQ(is(0), binary(0x24, 5, 64));
  EXPECT_EQ(is(0), binary(0x25, -1, 64));
  EXPECT_EQ(is_signed(-1), binary(0x26, -8, 1000));
  EXPECT_EQ(is(5), unary(0x19, -5));  // abs
  EXPECT_EQ(is(5), unary(0x19, 5));
  EXPECT_EQ(is_signed(INT64_MIN), unary(0x19, INT64_MIN));
  EXPECT_EQ(is_signed(-5), unary(0x1f, 5));
  EXPECT_EQ(is_signed(INT64_MIN), unary(0x1f, INT64_MIN));
  EXPECT_EQ(is_signed(-6), unary(0x20, 5));
  EXPECT_EQ(is(305), run({0x35, 0x23, 0xac, 0x02}));  // plus_uconst
  for (const uint8_t op : {0x19, 0x1a, 0x1c, 0x1e, 0x1f, 0x20, 0x21, 0x22, 0x24, 0x25, 0x26, 0x27}) {
    EXPECT_EQ(nothing(), run({op})) << int{op};
  }
}

TEST_F(ExpressionTest, Division) {
  EXPECT_EQ(is_signed(-3), binary(0x1b, -7, 2));
  EXPECT_EQ(is(1), binary(0x1d, 7, 2));
  EXPECT_EQ(is(kAllOnes % 10), binary(0x1d, -1, 10));  // unsigned
  EXPECT_EQ(nothing(), binary(0x1b, 7, 0));
  EXPECT_EQ(nothing(), binary(0x1d, 7, 0));
  EXPECT_EQ(is_signed(INT64_MIN), binary(0x1b, INT64_MIN, -1));  // wraps
}

TEST_F(ExpressionTest, Comparisons) {
  const int64_t values[] = {INT64_MIN, -1, 0, 1, INT64_MAX};
  for (const int64_t a : values) {
    for (const int64_t b : values) {
      EXPECT_EQ(is(a == b), binary(0x29, a, b));
      EXPECT_EQ(is(a >= b), binary(0x2a, a, b));
      EXPECT_EQ(is(a > b), binary(0x2b, a, b));
      EXPECT_EQ(is(a <= b), binary(0x2c, a, b));
      EXPECT_EQ(is(a < b), binary(0x2d, a, b));
      EXPECT_EQ(is(a != b), binary(0x2e, a, b));
    }
  }
}

TEST_F(ExpressionTest, Branches) {
  EXPECT_EQ(is(3), run({0x33, 0x2f, 1, 0, 0x13}));            // skip over drop
  EXPECT_EQ(is(7), run({0x37, 0x31, 0x28, 1, 0, 0x13}));      // bra: taken
  EXPECT_EQ(nothing(), run({0x37, 0x30, 0x28, 1, 0, 0x13}));  // not taken: drops
  // 5 [dup 1 swap minus... a loop that counts 5 down to 0: lit1 minus dup bra -5.
  EXPECT_EQ(is(0), run({0x35, 0x31, 0x1c, 0x12, 0x28, 0xfa, 0xff}));
  EXPECT_EQ(is(3), run({0x33, 0x2f, 0, 0}));            // to the end
  EXPECT_EQ(nothing(), run({0x33, 0x2f, 1, 0}));        // behind the end
  EXPECT_EQ(nothing(), run({0x33, 0x2f, 0xfb, 0xff}));  // before the start
  EXPECT_EQ(nothing(), run({0x33, 0x2f, 0xfd, 0xff}));  // onto itself, for ever
  EXPECT_EQ(nothing(), run({0x33, 0x2f, 0x00}));        // half a distance
  EXPECT_EQ(nothing(), run({0x33, 0x28}));
  EXPECT_EQ(nothing(), run({0x28, 0, 0}));  // nothing to decide by
}

TEST_F(ExpressionTest, WhatLinkersWriteForThePlt) {
  const Blob plt = {0x77, 8, 0x80, 0, 0x3f, 0x1a, 0x3b, 0x2a, 0x33, 0x24, 0x22};
  registers_.set(kReturnAddress, 0x100a);
  EXPECT_EQ(is(registers_.values[kRsp] + 8), run(plt));
  registers_.set(kReturnAddress, 0x100b);
  EXPECT_EQ(is(registers_.values[kRsp] + 16), run(plt));
}

TEST_F(ExpressionTest, OperandsAreLimited) {
  Blob code(32, 0x31);
  EXPECT_EQ(is(1), run(code));
  code.push_back(0x31);
  EXPECT_EQ(nothing(), run(code));
}

TEST_F(ExpressionTest, CutOffAnywhereIsNothing) {
  const Blob whole[] = {join({{0x03}, raw(kAllOnes)}),
                        {0x0a, 1, 2},
                        {0x0c, 1, 2, 3, 4},
                        {0x10, 0x80, 0x80, 0x01},
                        {0x76, 0x80, 0x01},
                        {0x92, 0x86, 0x00, 0x80, 0x01},
                        {0x08, 1},
                        {0x09, 1}};
  for (const Blob& code : whole) {
    ASSERT_TRUE(run(code).ok) << testing::PrintToString(code);
    for (size_t size = 0; size < code.size(); ++size) {
      EXPECT_EQ(nothing(), run(Blob(code.begin(), code.begin() + static_cast<long>(size)))) << size;
    }
  }
}

TEST_F(ExpressionTest, UnknownOperations) {
  for (const uint8_t op :
       {0x00, 0x04, 0x17, 0x18, 0x50, 0x6f, 0x90, 0x91, 0x93, 0x95, 0x97, 0x9c, 0xe0, 0xff}) {
    EXPECT_EQ(nothing(), run({0x31, 0x31, 0x31, op})) << int{op};
  }
}

TEST_F(ExpressionTest, RandomBytesAreSurvived) {
  Random random(20250102);
  uint64_t values = 0;
  for (uint64_t round = 0; round < scaled(200000); ++round) {
    Blob code(random.below(40));
    for (uint8_t& byte : code) {
      // Often an operation that does something.
      byte = static_cast<uint8_t>(random.below(3) != 0 ? 0x30 + random.below(8) : random.next());
    }
    values += run(code, true, random.next()).ok ? 1 : 0;
  }
  EXPECT_GT(values, scaled(1000));
}

}  // namespace
}  // namespace memprof::expression_test
