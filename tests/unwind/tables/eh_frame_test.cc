// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/eh_frame.h"

#include <gtest/gtest.h>

#include "tests/support/engine.h"
#include "tests/unwind/hand_made_tables.h"
#include "tests/unwind/mapped_file.h"
#include "tests/unwind/tables/read_rows.h"

namespace memprof::eh_frame_test {
namespace {

using namespace unwind;       // NOLINT(google-build-using-namespace)
using namespace unwind_test;  // NOLINT(google-build-using-namespace)

void expect_cfa(const Reading& r, uint8_t reg, int64_t offset) {
  ASSERT_EQ(Found::kYes, r.found);
  EXPECT_EQ(Row::kCfaRegister, r.row.cfa_kind);
  EXPECT_EQ(reg, r.row.cfa_register);
  EXPECT_EQ(offset, r.row.cfa_offset);
}

void expect_rule(const Reading& r, uint8_t reg, RegisterRule::Kind kind, int64_t value) {
  ASSERT_EQ(Found::kYes, r.found);
  EXPECT_EQ(kind, r.row.registers[reg].kind);
  EXPECT_EQ(value, r.row.registers[reg].value);
}

TEST(EhFrame, WhatTheCommonPartSays) {
  const Reading r = read({});
  expect_cfa(r, kRsp, 8);
  expect_rule(r, kReturnAddress, RegisterRule::kAtCfa, -8);
  for (const uint8_t reg : {kRbx, kRbp, kRsp, kR12, kR13, kR14, kR15}) {
    expect_rule(r, reg, RegisterRule::kSame, 0);
  }
  EXPECT_FALSE(r.row.is_signal_frame);
}

TEST(EhFrame, AddressesOutsideTheFunctionHaveNoRow) {
  EXPECT_EQ(Found::kYes, read({}, kSize - 1).found);
  EXPECT_EQ(Found::kNo, read({}, kSize).found);
  EXPECT_EQ(Found::kNo, read({}, uint64_t{0} - 1).found);
}

TEST(EhFrame, Locations) {
  // A row every few bytes, by each way to say so; the offset counts them.
  const Blob program = join({{0x41, 0x0e, 1},
                             {0x02, 0x10, 0x0e, 2},
                             {0x03, 0x00, 0x01, 0x0e, 3},
                             {0x04, 0x00, 0x02, 0x00, 0x00, 0x0e, 4}});
  const struct {
    uint64_t at;
    int64_t row;
  } cases[] = {{0, 8},     {1, 1},     {0x10, 1},  {0x11, 2},     {0x110, 2},
               {0x111, 3}, {0x310, 3}, {0x311, 4}, {kSize - 1, 4}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.at);
    expect_cfa(read(program, c.at), kRsp, c.row);
  }
}

TEST(EhFrame, LocationsAreScaled) {
  Cie cie;
  cie.code_alignment = 4;
  expect_cfa(read({0x42, 0x0e, 16}, 7, cie), kRsp, 8);
  expect_cfa(read({0x42, 0x0e, 16}, 8, cie), kRsp, 16);
}

TEST(EhFrame, SetLocIsEncodedAsPointers) {
  Tables tables;
  const size_t cie = tables.add_cie({});
  // length, CIE, start, size, augmentation size: 17 bytes; then the operation, then its number.
  const uint64_t position = tables.base() + tables.used() + 18;
  const int32_t target = static_cast<int32_t>(tables.code(0x20) - position);
  tables.add_fde(cie, 0, kSize, join({{0x01}, raw(target), {0x0e, 32}}));
  const Image image = tables.finish();
  Row row{};
  ASSERT_EQ(Found::kYes, find_row(image, tables.code(0x1f), &row));
  EXPECT_EQ(8, row.cfa_offset);
  ASSERT_EQ(Found::kYes, find_row(image, tables.code(0x20), &row));
  EXPECT_EQ(32, row.cfa_offset);
}

TEST(EhFrame, Cfa) {
  expect_cfa(read({0x0c, 6, 16}), kRbp, 16);                       // def_cfa
  expect_cfa(read({0x0d, 6}), kRbp, 8);                            // def_cfa_register
  expect_cfa(read(join({{0x0e}, uleb(0x12340)})), kRsp, 0x12340);  // def_cfa_offset
  expect_cfa(read({0x12, 12, 0x7e}), kR12, 16);                    // def_cfa_sf: -2 * -8
  expect_cfa(read(join({{0x13}, sleb(-100)})), kRsp, 800);         // def_cfa_offset_sf
  expect_cfa(read(join({{0x13}, sleb(100)})), kRsp, -800);
  expect_cfa(read({0x0c, 10, 0}), kRegisters, 0);       // r10 is not followed
  const Reading r = read({0x0f, 3, 0x76, 0x78, 0x06});  // def_cfa_expression
  ASSERT_EQ(Found::kYes, r.found);
  EXPECT_EQ(Row::kCfaExpression, r.row.cfa_kind);
  EXPECT_EQ(3u, r.row.cfa_expression.end - r.row.cfa_expression.start);
  expect_cfa(read({0x0f, 1, 0x30, 0x0c, 7, 24}), kRsp, 24);  // and back
}

TEST(EhFrame, Registers) {
  expect_rule(read({0x86, 2}), kRbp, RegisterRule::kAtCfa, -16);               // offset
  expect_rule(read({0x05, 6, 3}), kRbp, RegisterRule::kAtCfa, -24);            // offset_extended
  expect_rule(read({0x11, 6, 0x7f}), kRbp, RegisterRule::kAtCfa, 8);           // offset_extended_sf
  expect_rule(read({0x07, 16}), kReturnAddress, RegisterRule::kUndefined, 0);  // undefined
  expect_rule(read({0x83, 2, 0x08, 3}), kRbx, RegisterRule::kSame, 0);         // same_value
  expect_rule(read({0x14, 7, 2}), kRsp, RegisterRule::kCfaPlus, -16);          // val_offset
  expect_rule(read({0x15, 7, 0x7f}), kRsp, RegisterRule::kCfaPlus, 8);         // val_offset_sf
  const Reading in = read({0x09, 16, 3});                                      // register
  expect_rule(in, kReturnAddress, RegisterRule::kInRegister, 0);
  EXPECT_EQ(kRbx, in.row.registers[kReturnAddress].source);
  EXPECT_EQ(kRegisters, read({0x09, 16, 1}).row.registers[kReturnAddress].source);  // rdx: not followed
  for (const auto& [op, kind] : {std::pair<uint8_t, RegisterRule::Kind>{0x10, RegisterRule::kAtExpression},
                                 {0x16, RegisterRule::kExpression}}) {
    const Reading r = read({op, 15, 2, 0x76, 0x00, 0x00});
    ASSERT_EQ(Found::kYes, r.found);
    EXPECT_EQ(kind, r.row.registers[kR15].kind);
    EXPECT_EQ(2, r.row.registers[kR15].length);
  }
  // Each register that is followed, by number; the others change nothing.
  for (uint8_t dwarf = 0; dwarf < 64; ++dwarf) {
    const Reading r = read({static_cast<uint8_t>(0x80 | dwarf), 5});
    ASSERT_EQ(Found::kYes, r.found);
    for (int reg = 0; reg < kRegisters; ++reg) {
      const int64_t expected = kDwarfNumber[reg] == dwarf ? -40 : reg == kReturnAddress ? -8 : 0;
      EXPECT_EQ(expected, r.row.registers[reg].value) << int{dwarf};
    }
  }
}

TEST(EhFrame, DataAlignment) {
  Cie cie;
  cie.data_alignment = -4;
  expect_rule(read({0x86, 4}, 0, cie), kRbp, RegisterRule::kAtCfa, -16);
}

TEST(EhFrame, GnuOperations) {
  expect_rule(read({0x2e, 0x90, 0x01, 0x86, 2}), kRbp, RegisterRule::kAtCfa, -16);  // GNU_args_size
  expect_rule(read({0x2f, 6, 2}), kRbp, RegisterRule::kAtCfa, 16);  // GNU_negative_offset_extended
  expect_rule(read({0x00, 0x00, 0x86, 2, 0x00}), kRbp, RegisterRule::kAtCfa, -16);  // nop
}

TEST(EhFrame, RestoreGoesBackToTheCommonPart) {
  Cie cie;
  append(&cie.program, {0x83, 3});  // rbx at CFA - 24
  expect_rule(read({0x83, 9, 0xc3}, 0, cie), kRbx, RegisterRule::kAtCfa, -24);
  expect_rule(read({0x83, 9, 0x06, 3}, 0, cie), kRbx, RegisterRule::kAtCfa, -24);
  expect_rule(read({0x86, 9, 0xc6}, 0, cie), kRbp, RegisterRule::kSame, 0);
}

TEST(EhFrame, RememberedStatesNest) {
  // Depth 4; each level saves rbp elsewhere and moves the CFA; then back out, a row at each step.
  Blob program;
  for (uint8_t level = 1; level <= 4; ++level) {
    append(&program,
           {0x0a, 0x0e, static_cast<uint8_t>(8 + 8 * level), 0x86, static_cast<uint8_t>(level + 1), 0x41});
  }
  for (int level = 1; level <= 4; ++level) {
    append(&program, {0x0b, 0x41});
  }
  for (int64_t level = 1; level <= 4; ++level) {
    const Reading in = read(program, static_cast<uint64_t>(level - 1));
    expect_cfa(in, kRsp, 8 + 8 * level);
    expect_rule(in, kRbp, RegisterRule::kAtCfa, -8 * (level + 1));
    const Reading out = read(program, static_cast<uint64_t>(7 - level));
    expect_cfa(out, kRsp, 8 + 8 * level);
    expect_rule(out, kRbp, RegisterRule::kAtCfa, -8 * (level + 1));
  }
  expect_cfa(read(program, 7), kRsp, 8);
  expect_rule(read(program, 7), kRbp, RegisterRule::kSame, 0);
}

TEST(EhFrame, RestoreBringsTheCfaExpressionBack) {
  const Reading r = read({0x0f, 1, 0x30, 0x0a, 0x0c, 7, 16, 0x41, 0x0b}, 1);
  ASSERT_EQ(Found::kYes, r.found);
  EXPECT_EQ(Row::kCfaExpression, r.row.cfa_kind);
}

TEST(EhFrame, Versions) {
  Cie cie;
  cie.version = 3;
  cie.return_register = uleb(16);
  EXPECT_EQ(Found::kYes, read({}, 0, cie).found);
  for (const uint8_t version : {0, 2, 4, 5, 255}) {
    cie.version = version;
    EXPECT_EQ(Found::kCorrupt, read({}, 0, cie).found) << int{version};
  }
  Cie other;
  other.return_register = {30};  // no register of this processor's walk
  EXPECT_EQ(Found::kCorrupt, read({}, 0, other).found);
}

TEST(EhFrame, Augmentations) {
  Cie cie;
  cie.augmentation = "zPLRS";
  cie.augmentation_data = join({{0x9b}, raw<int32_t>(1234), {0x1b}, {0x1b}});
  Reading r = read({}, 5, cie);
  EXPECT_EQ(Found::kYes, r.found);
  EXPECT_TRUE(r.row.is_signal_frame);
  cie.augmentation = "zR?!";  // unknown letters behind what is known
  cie.augmentation_data = {0x1b, 1, 2, 3, 4};
  EXPECT_EQ(Found::kYes, read({}, 0, cie).found);
  cie.augmentation = "eh";
  EXPECT_EQ(Found::kCorrupt, read({}, 0, cie).found);
  cie.augmentation = "zR";
  cie.augmentation_data = {};  // its letter wants a byte
  EXPECT_EQ(Found::kCorrupt, read({}, 0, cie).found);
  cie.augmentation = "zP";
  cie.augmentation_data = {0x1b, 0, 0};  // shorter than its pointer
  EXPECT_EQ(Found::kCorrupt, read({}, 0, cie).found);
}

TEST(EhFrame, PointerEncodings) {
  struct Case {
    uint8_t encoding;
    Blob (*encode)(uint64_t start, uint64_t position, uint64_t index);
    Blob size;
  };
  const Case cases[] = {
      {0x00, [](uint64_t s, uint64_t, uint64_t) { return raw(s); }, raw<uint64_t>(kSize)},
      {0x04, [](uint64_t s, uint64_t, uint64_t) { return raw(s); }, raw<uint64_t>(kSize)},
      {0x0c, [](uint64_t s, uint64_t p, uint64_t) { return raw(s + 0 * p); }, raw<uint64_t>(kSize)},
      {0x01, [](uint64_t s, uint64_t, uint64_t) { return uleb(s); }, uleb(kSize)},
      {0x09, [](uint64_t s, uint64_t, uint64_t) { return sleb(static_cast<int64_t>(s)); }, sleb(kSize)},
      {0x10, [](uint64_t s, uint64_t p, uint64_t) { return raw(s - p); }, raw<uint64_t>(kSize)},
      {0x13, [](uint64_t s, uint64_t p, uint64_t) { return raw(static_cast<uint32_t>(s - p)); },
       raw<uint32_t>(kSize)},
      {0x1b, [](uint64_t s, uint64_t p, uint64_t) { return raw(static_cast<int32_t>(s - p)); },
       raw<uint32_t>(kSize)},
      {0x11, [](uint64_t s, uint64_t p, uint64_t) { return uleb(s - p); }, uleb(kSize)},
      {0x19, [](uint64_t s, uint64_t p, uint64_t) { return sleb(static_cast<int64_t>(s - p)); }, sleb(kSize)},
  };
  for (const Case& c : cases) {
    SCOPED_TRACE(int{c.encoding});
    Tables tables;
    Cie cie;
    cie.augmentation_data = {c.encoding};
    const size_t common = tables.add_cie(cie);
    const uint64_t position = tables.base() + tables.used() + 8;
    tables.add_fde_as(common, 0, c.encode(tables.code(0), position, 0), c.size, {0}, {0x41, 0x0e, 16});
    const Image image = tables.finish();
    Row row{};
    ASSERT_EQ(Found::kYes, find_row(image, tables.code(1), &row));
    EXPECT_EQ(16, row.cfa_offset);
    ASSERT_EQ(Found::kYes, find_row(image, tables.code(kSize - 1), &row));
    EXPECT_EQ(Found::kNo, find_row(image, tables.code(kSize), &row));
  }
  for (const uint8_t encoding : {0x05, 0x08, 0x0f, 0x20, 0x40, 0x50, 0x60, 0xff}) {
    SCOPED_TRACE(int{encoding});
    Cie cie;
    cie.augmentation_data = {encoding};
    EXPECT_EQ(Found::kCorrupt, read({}, 0, cie).found);
  }
}

TEST(EhFrame, LongLengths) {
  Tables tables;
  const size_t cie = tables.add_cie({});
  // The 64-bit form: the id is still 4 bytes in .eh_frame.
  const uint64_t id_position = tables.base() + tables.used() + 12;
  const Blob content = join({raw(static_cast<uint32_t>(id_position - tables.base() - cie)),
                             raw(static_cast<int32_t>(tables.code(0) - (id_position + 4))),
                             raw<uint32_t>(kSize),
                             {0, 0x0e, 48}});
  const size_t at = tables.used();
  tables.add_bytes(join({raw<uint32_t>(0xffffffff), raw<uint64_t>(content.size()), content}));
  tables.add_function(0, at);
  Row row{};
  ASSERT_EQ(Found::kYes, find_row(tables.finish(), tables.code(0), &row));
  EXPECT_EQ(48, row.cfa_offset);
}

TEST(EhFrame, TheIndexFindsEachOfManyFunctions) {
  Tables tables;
  Cie b;
  b.program = {0x0c, 7, 8, 0x90, 1, 0x83, 2};
  const size_t ca = tables.add_cie({});
  const size_t cb = tables.add_cie(b);  // more than one common part
  constexpr uint64_t kFunctions = 257;
  for (uint64_t i = 0; i < kFunctions; ++i) {
    tables.add_fde(i % 2 == 0 ? ca : cb, i * 32, 24, join({{0x0e}, uleb(8 * (i + 1))}));
  }
  const Image image = tables.finish();
  Row row{};
  for (uint64_t i = 0; i < kFunctions; ++i) {
    for (const uint64_t inside : {0, 23}) {
      ASSERT_EQ(Found::kYes, find_row(image, tables.code(i * 32 + inside), &row));
      EXPECT_EQ(static_cast<int64_t>(8 * (i + 1)), row.cfa_offset);
      EXPECT_EQ(i % 2 == 0 ? RegisterRule::kSame : RegisterRule::kAtCfa, row.registers[kRbx].kind);
    }
    EXPECT_EQ(Found::kNo, find_row(image, tables.code(i * 32 + 24), &row));
  }
}

}  // namespace
}  // namespace memprof::eh_frame_test
