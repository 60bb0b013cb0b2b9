// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/eh_frame.h"

#include <dwarf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>

#include "tests/support/engine.h"
#include "tests/unwind/hand_made_tables.h"
#include "tests/unwind/mapped_file.h"

namespace memprof::eh_frame_test {
namespace {

using namespace unwind;       // NOLINT(google-build-using-namespace)
using namespace unwind_test;  // NOLINT(google-build-using-namespace)
using testing_support::Random;
using testing_support::scaled;

// ---- Against elfutils, on real files
// -----------------------------------------------------------------------

constexpr int kDwarfNumber[kRegisters] = {3, 6, 7, 12, 13, 14, 15, 16};

int register_of(uint64_t dwarf) {
  for (int r = 0; r < kRegisters; ++r) {
    if (static_cast<uint64_t>(kDwarfNumber[r]) == dwarf) {
      return r;
    }
  }
  return kRegisters;
}

// elfutils gives decoded operations: each must stand at its place in our bytes.
bool same_expression(Dwarf_Op* ops, size_t count, const Expression& e) {
  if (count == 0) {
    return false;
  }
  for (size_t i = 0; i < count; ++i) {
    if (e.start + ops[i].offset >= e.end ||
        *reinterpret_cast<const uint8_t*>(e.start + ops[i].offset) != ops[i].atom) {
      return false;
    }
  }
  // One more byte would be one more operation, or belong to the last one's numbers: small here.
  return e.end - (e.start + ops[count - 1].offset) <= 11;
}

::testing::AssertionResult same_cfa(Dwarf_Frame* frame, const Row& row) {
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  if (dwarf_frame_cfa(frame, &ops, &count) != 0 || count == 0) {
    return ::testing::AssertionFailure() << "elfutils knows no CFA";
  }
  if (count == 1 && ops[0].atom == DW_OP_bregx) {
    const bool same = row.cfa_kind == Row::kCfaRegister && row.cfa_register == register_of(ops[0].number) &&
                      row.cfa_offset == static_cast<int64_t>(ops[0].number2);
    return same ? ::testing::AssertionSuccess()
                : ::testing::AssertionFailure()
                      << "CFA = r" << ops[0].number << " + " << static_cast<int64_t>(ops[0].number2)
                      << ", not register " << int{row.cfa_register} << " + " << row.cfa_offset;
  }
  return row.cfa_kind == Row::kCfaExpression && same_expression(ops, count, row.cfa_expression)
             ? ::testing::AssertionSuccess()
             : ::testing::AssertionFailure() << "another CFA expression";
}

::testing::AssertionResult same_register(Dwarf_Frame* frame, int r, const RegisterRule& rule) {
  Dwarf_Op memory[3];
  Dwarf_Op* ops = nullptr;
  size_t count = 0;
  if (dwarf_frame_register(frame, kDwarfNumber[r], memory, &ops, &count) != 0) {
    return ::testing::AssertionFailure() << "elfutils does not know register " << kDwarfNumber[r];
  }
  const auto check = [&](bool same) {
    return same ? ::testing::AssertionSuccess()
                : ::testing::AssertionFailure()
                      << "register " << kDwarfNumber[r] << ": rule " << int{rule.kind} << ", value "
                      << rule.value << "; elfutils: " << count << " operations";
  };
  const Expression ours{static_cast<uint64_t>(rule.value), static_cast<uint64_t>(rule.value) + rule.length};
  if (count == 0) {
    // elfutils calls a register that nothing is said of undefined; what calls keep is the same then (ABI).
    return check(rule.kind == RegisterRule::kUndefined ||
                 (rule.kind == RegisterRule::kSame && (ops == nullptr || r != kReturnAddress)));
  }
  const bool is_value = ops[count - 1].atom == DW_OP_stack_value;
  const size_t used = is_value ? count - 1 : count;
  if (ops == memory && ops[0].atom == DW_OP_regx) {
    return check(rule.kind == RegisterRule::kInRegister && rule.source == register_of(ops[0].number));
  }
  if (ops == memory && ops[0].atom == DW_OP_call_frame_cfa) {
    const int64_t offset = used > 1 ? static_cast<int64_t>(ops[1].number) : 0;
    if (is_value && r == kRsp && offset == 0) {  // what the ABI says of it
      return check(rule.kind == RegisterRule::kSame);
    }
    return check(rule.kind == (is_value ? RegisterRule::kCfaPlus : RegisterRule::kAtCfa) &&
                 rule.value == offset);
  }
  // The CFA is pushed before the expression; that operation is not in its bytes.
  const size_t first = ops[0].atom == DW_OP_call_frame_cfa ? 1 : 0;
  return check(rule.kind == (is_value ? RegisterRule::kExpression : RegisterRule::kAtExpression) &&
               same_expression(ops + first, used - first, ours));
}

struct Count {
  uint64_t rows = 0;
  uint64_t without = 0;
  uint64_t wrong = 0;
};

void compare_at(const MappedFile& file, uint64_t address, Count* count, uint64_t* next) {
  Dwarf_Frame* theirs = nullptr;
  const bool known = dwarf_cfi_addrframe(file.cfi(), address, &theirs) == 0;
  const std::unique_ptr<Dwarf_Frame, void (*)(void*)> owner(theirs, free);
  Row row{};
  const Found found = find_row(file.image(), address + file.bias(), &row);
  if (!known) {
    ++count->without;
    count->wrong += found == Found::kYes ? 1 : 0;
    EXPECT_NE(Found::kYes, found) << std::hex << address << ": elfutils has no row: " << dwarf_errmsg(-1);
    *next = address + 1;
    return;
  }
  ++count->rows;
  Dwarf_Addr start = 0;
  Dwarf_Addr end = 0;
  bool is_signal = false;
  dwarf_frame_info(theirs, &start, &end, &is_signal);
  *next = end > address ? end : address + 1;
  bool right = found == Found::kYes && row.is_signal_frame == is_signal;
  EXPECT_EQ(Found::kYes, found) << std::hex << address;
  EXPECT_EQ(is_signal, row.is_signal_frame) << std::hex << address;
  if (found == Found::kYes) {
    const auto cfa = same_cfa(theirs, row);
    EXPECT_TRUE(cfa) << std::hex << address;
    right = right && cfa;
    for (int r = 0; r < kRegisters; ++r) {
      const auto same = same_register(theirs, r, row.registers[r]);
      EXPECT_TRUE(same) << std::hex << address;
      right = right && same;
    }
  }
  count->wrong += right ? 0 : 1;
}

// The first and the last address of each row of each `stride`-th function, and the byte behind the function.
Count compare_file(const MappedFile& file, uint64_t stride) {
  Count count;
  const std::vector<uint64_t> starts = file.function_starts();
  EXPECT_TRUE(std::is_sorted(starts.begin(), starts.end()));
  for (size_t i = 0; i < starts.size() && count.wrong < 10; i += stride) {
    const uint64_t limit = i + 1 < starts.size() ? starts[i + 1] : starts[i] + 64;
    for (uint64_t address = starts[i]; address < limit && count.wrong < 10;) {
      uint64_t next = 0;
      const uint64_t without = count.without;
      compare_at(file, address, &count, &next);
      if (count.without != without) {
        break;  // the gap up to the next function
      }
      uint64_t ignored = 0;
      compare_at(file, next - 1, &count, &ignored);
      address = next;
    }
  }
  return count;
}

TEST(EhFrame, EveryRowOfThisProcessIsWhatElfutilsReads) {
  uint64_t rows = 0;
  uint64_t gaps = 0;
  int files = 0;
  for (const std::string& path : files_of_this_process()) {
    const MappedFile file(path);
    if (!file.ok()) {
      continue;  // a file of data, such as locales
    }
    SCOPED_TRACE(path);
    const Count count = compare_file(file, testing_support::kSanitized ? 23 : 1);
    EXPECT_EQ(0u, count.wrong);
    ++files;
    rows += count.rows;
    gaps += count.without;
  }
  printf("%d files, %lu rows, %lu gaps\n", files, rows, gaps);
  EXPECT_GE(files, 5);  // this program, libc, libstdc++, libdw, the loader
  EXPECT_GE(rows, scaled(100000));
  EXPECT_GE(gaps, scaled(100));
}

TEST(EhFrame, RowsOfBigProgramsAreWhatElfutilsReads) {
  int files = 0;
  for (const char* path : {"/usr/bin/python3", "/usr/bin/perl", "/usr/bin/git", "/usr/bin/node",
                           "/usr/lib/gcc/x86_64-linux-gnu/12/cc1plus", "/usr/bin/ld.bfd"}) {
    const MappedFile file(path);
    if (!file.ok()) {
      continue;
    }
    SCOPED_TRACE(path);
    const uint64_t functions = file.function_starts().size();
    const Count count = compare_file(file, 1 + functions / scaled(4000));
    EXPECT_EQ(0u, count.wrong);
    EXPECT_GT(count.rows, 0u);
    ++files;
  }
  EXPECT_GT(files, 0) << "none of the programs is installed";
}

// ---- Tables made by hand
// -----------------------------------------------------------------------------------

constexpr uint64_t kSize = 0x1000;  // of the function, which begins at code(0)

// The row at code(at) of a function with this program.
struct Reading {
  Found found;
  Row row;
};
Reading read(const Blob& program, uint64_t at = 0, const Cie& cie = {}) {
  Tables tables;
  tables.add_fde(tables.add_cie(cie), 0, kSize, program);
  Reading r{};
  r.found = find_row(tables.finish(), tables.code(at), &r.row);
  return r;
}

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

// ---- Damaged ones
// ------------------------------------------------------------------------------------------

TEST(EhFrame, CorruptPrograms) {
  const Blob programs[] = {
      {0x0b},  // restore without remember
      {0x17},  // no such operation
      {0x3f},
      {0x0e},        // its number is missing
      {0x0e, 0x80},  // and cut off
      {0x04, 0x00},
      {0x0f, 0x7f, 0x30},  // expression longer than the program
      {0x10, 6, 0x7f, 0x30},
      {0x10, 6, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
  };
  for (const Blob& program : programs) {
    EXPECT_EQ(Found::kCorrupt, read(program).found) << testing::PrintToString(program);
  }
  EXPECT_EQ(Found::kCorrupt, read(Blob(1000, 0x0a)).found);  // endless remembering
  Cie no_cfa;
  no_cfa.program = {0x90, 1};
  EXPECT_EQ(Found::kCorrupt, read({}, 0, no_cfa).found);
}

TEST(EhFrame, CorruptEntries) {
  const auto with = [](const auto& damage) {
    Tables tables;
    const size_t cie = tables.add_cie({});
    const size_t fde = tables.add_fde(cie, 0, kSize, {0x0e, 16});
    Image image = tables.finish();
    damage(tables, cie, fde, &image);
    Row row{};
    return find_row(image, tables.code(0), &row);
  };
  const auto put = [](Tables& t, size_t at, uint32_t value) { memcpy(t.at(at), &value, 4); };
  EXPECT_EQ(Found::kYes, with([](Tables&, size_t, size_t, Image*) {}));
  for (const uint32_t length : {0u, 3u, 0x7fffffffu, 0xfffffffeu, 0xffffffffu}) {
    SCOPED_TRACE(length);
    EXPECT_EQ(Found::kCorrupt, with([&](Tables& t, size_t, size_t f, Image*) { put(t, f, length); }));
    EXPECT_EQ(Found::kCorrupt, with([&](Tables& t, size_t c, size_t, Image*) { put(t, c, length); }));
  }
  // The FDE's CIE: itself, none, before the segment, behind it.
  for (const uint32_t distance : {0u, 4u, 0x10000u, 0x80000000u, 0xffffffffu}) {
    SCOPED_TRACE(distance);
    EXPECT_EQ(Found::kCorrupt, with([&](Tables& t, size_t, size_t f, Image*) { put(t, f + 4, distance); }));
  }
  // An index entry that points at a CIE, or outside the segment.
  const auto index_entry = [](Tables& t, const Image& image) { return image.index - t.base() + 16; };
  EXPECT_EQ(Found::kCorrupt, with([&](Tables& t, size_t c, size_t, Image* image) {
              put(t, index_entry(t, *image), static_cast<uint32_t>(t.base() + c - image->index));
            }));
  for (const uint32_t distance : {0x7fffffffu, 0x80000000u}) {
    EXPECT_EQ(Found::kCorrupt, with([&](Tables& t, size_t, size_t, Image* image) {
                put(t, index_entry(t, *image), distance);
              }));
  }
}

TEST(EhFrame, CorruptIndexes) {
  Tables tables;
  tables.add_fde(tables.add_cie({}), 0, kSize, {});
  const Image good = tables.finish();
  Row row{};
  const auto look = [&](const Image& image) { return find_row(image, tables.code(0), &row); };
  ASSERT_EQ(Found::kYes, look(good));
  EXPECT_EQ(Found::kNo, look({good.readable_high, good.readable_low, good.readable_high}));
  EXPECT_EQ(Found::kNo, look({good.readable_low - 8, good.readable_low, good.readable_high}));
  for (uint64_t cut = 1; cut < 20; ++cut) {  // the segment ends inside the index
    EXPECT_EQ(Found::kNo, look({good.index, good.readable_low, good.readable_high - cut})) << cut;
  }
  uint8_t* index = tables.at(good.index - tables.base());
  for (const auto& [at, value] :
       {std::pair<int, uint8_t>{0, 2}, {2, 0xff}, {2, 0x08}, {3, 0x1b}, {3, 0xff}, {1, 0x05}}) {
    const uint8_t before = index[at];
    index[at] = value;
    EXPECT_EQ(Found::kNo, look(good)) << at;
    index[at] = before;
  }
  for (const uint32_t count : {0u, 2u, 0xffffffffu, 0x20000000u}) {
    const uint32_t one = 1;
    memcpy(index + 8, &count, 4);
    EXPECT_EQ(Found::kNo, look(good)) << count;
    memcpy(index + 8, &one, 4);
  }
}

// Whatever the bytes are: no read outside, no endless loop, no undefined behaviour (the sanitizers look on).
// The memory ends at a page that cannot be read.
TEST(EhFrame, DamageAtRandomIsSurvived) {
  Tables tables;
  Cie cie;
  cie.augmentation = "zPLRS";
  cie.augmentation_data = join({{0x9b}, raw<int32_t>(1234), {0x1b}, {0x1b}});
  const size_t a = tables.add_cie({});
  const size_t b = tables.add_cie(cie);
  for (uint64_t i = 0; i < 8; ++i) {
    tables.add_fde(
        i % 2 == 0 ? a : b, i * 64, 64,
        {0x41, 0x0a, 0x0e, 16, 0x86, 2, 0x02, 3, 0x0f, 3, 0x76, 0x78, 0x06, 0x10, 6, 2, 0x76, 0, 0x0b});
  }
  Image image = tables.finish();
  const Blob original(tables.at(0), tables.at(0) + tables.used());
  Random random(20250101);
  uint64_t outcome[3] = {};
  for (uint64_t round = 0; round < scaled(400000); ++round) {
    memcpy(tables.at(0), original.data(), original.size());
    for (uint64_t changes = 1 + random.below(4); changes > 0; --changes) {
      *tables.at(random.below(original.size())) = static_cast<uint8_t>(random.next());
    }
    image.readable_high =
        tables.base() + (random.below(8) == 0 ? random.below(original.size()) : original.size());
    Row row{};
    ++outcome[static_cast<int>(find_row(image, tables.code(random.below(8 * 64)), &row))];
  }
  for (const uint64_t n : outcome) {
    EXPECT_GT(n, scaled(1000));
  }
}

}  // namespace
}  // namespace memprof::eh_frame_test
