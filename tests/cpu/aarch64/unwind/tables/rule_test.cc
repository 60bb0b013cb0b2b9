// SPDX-License-Identifier: Apache-2.0
// Tables of aarch64, and the rules that become of them.  Runs there, and anywhere with the reader compiled
// for it (tests/unwind/CMakeLists.txt).
#include <gtest/gtest.h>

#include "tests/unwind/hand_made_tables.h"
#include "unwind/tables/rule.h"

namespace memprof::rule_aarch64_test {
namespace {

using namespace unwind;       // NOLINT(google-build-using-namespace)
using namespace unwind_test;  // NOLINT(google-build-using-namespace)

Cie usual() {
  Cie cie;
  cie.code_alignment = 4;
  cie.return_register = {30};
  cie.program = {0x0c, 31, 0};  // CFA = sp
  return cie;
}

Found read(const Blob& program, uint64_t at, Row* row, const Cie& cie = usual()) {
  Tables t;
  t.add_fde(t.add_cie(cie), 0, 256, program);
  return find_row(t.finish(), t.code(at), row);
}

struct Expected {
  Rule::Kind kind;
  uint16_t a, b;
};

void expect_rule(const Blob& program, const Expected& expected, uint64_t at = 128, const Cie& cie = usual()) {
  Row row{};
  ASSERT_EQ(Found::kYes, read(program, at, &row, cie));
  const Rule rule = derive_rule(row);
  EXPECT_EQ(expected.kind, rule.kind);
  EXPECT_EQ(expected.a, rule.a);
  EXPECT_EQ(expected.b, rule.b);
  const Rule packed = unpack(pack(rule));
  EXPECT_TRUE(packed.kind == rule.kind && packed.a == rule.a && packed.b == rule.b);
}

TEST(RuleAarch64, ProloguesOfGccAndClang) {
  expect_rule({}, {Rule::kFromSp, 0, 0});                                // a leaf
  expect_rule({0x0e, 48}, {Rule::kFromSp, 6, 0});                        // with variables
  expect_rule({0x0e, 32, 0x9d, 4, 0x9e, 3}, {Rule::kFromSp, 4, 4});      // stp x29, x30, [sp, #-32]!
  expect_rule({0x0c, 29, 16, 0x9e, 1, 0x9d, 2}, {Rule::kFromBp, 2, 2});  // clang: w29 + 16
  expect_rule({0x0c, 29, 48, 0x9d, 6, 0x9e, 5}, {Rule::kFromBp, 6, 6});  // alloca
  expect_rule({0x0e, 16, 0x9e, 2}, {Rule::kLinkOnly, 2, 2});             // str x30, [sp, #-16]!
  expect_rule({0x0e, 32, 0x9e, 4, 0x93, 3}, {Rule::kLinkOnly, 4, 4});    // and x19
  expect_rule({0x0e, 16, 0x9d, 2, 0x9e, 1, 0xdd, 0xde, 0x0e, 0}, {Rule::kFromSp, 0, 0});  // an epilogue
  expect_rule(join({{0x0e}, uleb(65520), {0x9d}, uleb(1000), {0x9e}, uleb(999)}),
              {Rule::kFromSp, 8190, 1000});
}

TEST(RuleAarch64, EachRowOfAPrologueHasItsRule) {
  // sub sp / stp; mov x29, sp: the signature, the frame and the registers come one by one.
  const Blob program = {0x41, 0x2d, 0x41, 0x0e, 32, 0x9d, 4,    0x9e, 3,    0x41,
                        0x0d, 29,   0x48, 0x0c, 31, 0,    0xdd, 0xde, 0x41, 0x2d};
  for (const uint64_t at : {0, 4, 7}) {
    expect_rule(program, {Rule::kFromSp, 0, 0}, at);
  }
  expect_rule(program, {Rule::kFromSp, 4, 4}, 8);
  for (const uint64_t at : {12, 40, 43}) {
    expect_rule(program, {Rule::kFromBp, 4, 4}, at);
  }
  for (const uint64_t at : {44, 48, 255}) {
    expect_rule(program, {Rule::kFromSp, 0, 0}, at);
  }
}

TEST(RuleAarch64, WhatDoesNotFitIsComplex) {
  const Expected complex{Rule::kComplex, 0, 0};
  expect_rule({0x0e, 32, 0x9d, 4, 0x9e, 2}, complex);                // no pair
  expect_rule({0x0e, 32, 0x9d, 3, 0x9e, 4}, complex);                // the other way around
  expect_rule({0x0e, 32, 0x9d, 4}, complex);                         // x29 alone
  expect_rule({0x0c, 19, 16, 0x9d, 2, 0x9e, 1}, complex);            // CFA = x19 + 16
  expect_rule({0x0c, 29, 16, 0x9e, 1}, complex);                     // CFA = x29 + 16, x29 as it was
  expect_rule({0x0e, 12, 0x9d, 4, 0x9e, 3}, complex);                // no whole words
  expect_rule({0x0e, 32, 0x11, 29, 0x7f, 0x11, 30, 0x7e}, complex);  // above the CFA
  expect_rule({0x0f, 2, 0x8f, 0}, complex);                          // CFA = breg31 0
  expect_rule({0x0e, 32, 0x16, 30, 1, 0x30, 0x9d, 4}, complex);
  expect_rule({0x0e, 32, 0x09, 30, 19}, complex);                             // x30 in x19
  expect_rule(join({{0x0e}, uleb(8 * 65536), {0x9d, 4, 0x9e, 3}}), complex);  // too large a frame
  expect_rule(join({{0x0e}, uleb(16384), {0x9d}, uleb(1024), {0x9e}, uleb(1023)}), complex);
}

TEST(RuleAarch64, TheRootAndSignalFrames) {
  expect_rule({0x07, 30}, {Rule::kRoot, 0, 0});
  Cie signal = usual();
  signal.augmentation = "zRS";
  expect_rule({}, {Rule::kSignal, 0, 0}, 128, signal);
}

TEST(RuleAarch64, AugmentationsOfSignedAndTaggedFrames) {
  for (const char* letters : {"zRB", "zRG", "zRBG", "zRSB"}) {
    Cie cie = usual();
    cie.augmentation = letters;
    Row row{};
    ASSERT_EQ(Found::kYes, read({0x0e, 16, 0x2d, 0x2c}, 128, &row, cie)) << letters;
    EXPECT_EQ(std::string(letters) == "zRSB", row.is_signal_frame) << letters;
  }
}

TEST(RuleAarch64, RegistersByTheirNumbers) {
  for (uint64_t dwarf = 0; dwarf < 128; ++dwarf) {
    const uint8_t expected =
        dwarf >= 19 && dwarf <= 31 ? static_cast<uint8_t>(dwarf - 19) : uint8_t{kRegisters};
    EXPECT_EQ(expected, to_register(dwarf)) << dwarf;
  }
  EXPECT_EQ(kRegisters, to_register(~uint64_t{0}));
  EXPECT_EQ(kX19, to_register(19));
  EXPECT_EQ(kX29, to_register(29));
  EXPECT_EQ(kReturnAddress, to_register(30));
  EXPECT_EQ(kSp, to_register(31));
  Row row{};
  ASSERT_EQ(Found::kYes, read({0x05, 72, 3, 0x9c, 5}, 0, &row)) << "d8 is saved, too";  // x28 at CFA - 40
  EXPECT_EQ(RegisterRule::kAtCfa, row.registers[kX28].kind);
  EXPECT_EQ(-40, row.registers[kX28].value);
  EXPECT_EQ(RegisterRule::kSame, row.registers[kX27].kind);
}

TEST(RuleAarch64, TablesOfAnotherProcessorAreRefused) {
  Cie cie = usual();
  cie.return_register = {16};
  Row row{};
  EXPECT_EQ(Found::kCorrupt, read({}, 0, &row, cie));
}

TEST(RuleAarch64, SignaturesAreTakenOffReturnAddresses) {
  EXPECT_EQ(0x0000'ffff'1234'5678u, strip(0x0000'ffff'1234'5678u));
  EXPECT_EQ(0x0000'ffff'1234'5678u, strip(0xab7f'ffff'1234'5678u));
  EXPECT_EQ(0x0000'0000'0040'1234u, strip(0x0023'0000'0040'1234u));
  EXPECT_EQ(0u, strip(0));
}

}  // namespace
}  // namespace memprof::rule_aarch64_test
