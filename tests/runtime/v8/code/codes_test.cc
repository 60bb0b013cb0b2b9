// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/code/codes.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

namespace memprof::v8::codes_test {
namespace {

constexpr uint64_t kBytecode = 0x10000;
constexpr uint64_t kMachine = 0x7f0000001000;

struct CodesTest : testing::Test {
  const std::unique_ptr<Codes> codes = std::make_unique<Codes>();

  // "name:line", or "" for nothing.
  std::string at(uint64_t address, bool is_return = false) const {
    FoundCode found{};
    return codes->find(address, is_return, &found)
               ? std::string(codes->name(found.name)) + ":" + std::to_string(found.line)
               : "";
  }
  uint32_t add_fill() {
    const uint32_t record = codes->add(CodeKind::kBytecode, kBytecode, 100, "JS:~fill /srv/app.js:8:14");
    const PositionLine lines[] = {{0, 100, 8}, {10, 120, 9}, {40, 160, 11}};
    codes->set_lines(record, lines, 3);
    return record;
  }
};

TEST_F(CodesTest, TheLineIsThatOfTheLastPositionBefore) {
  add_fill();
  EXPECT_EQ("JS:fill /srv/app.js:8:14:8", at(kBytecode + 9));
  EXPECT_EQ("JS:fill /srv/app.js:8:14:9", at(kBytecode + 10));
  EXPECT_EQ("JS:fill /srv/app.js:8:14:8", at(kBytecode + 10, true)) << "a call returns behind itself";
  EXPECT_EQ("JS:fill /srv/app.js:8:14:11", at(kBytecode + 99));
  EXPECT_EQ("", at(kBytecode + 100));
  EXPECT_EQ("JS:fill /srv/app.js:8:14:11", at(kBytecode + 100, true));
}

TEST_F(CodesTest, CodeThatMovesKeepsItsLines) {
  add_fill();
  codes->move(kBytecode, kBytecode + 0x1000);
  EXPECT_EQ("", at(kBytecode + 10));
  EXPECT_EQ("JS:fill /srv/app.js:8:14:9", at(kBytecode + 0x1000 + 10));
  codes->add(CodeKind::kBytecode, kBytecode, 50, "JS:~other /srv/app.js:1:1");
  codes->move(kBytecode + 0x1000, kBytecode + 8);  // over it
  EXPECT_EQ("", at(kBytecode));
  EXPECT_EQ("JS:fill /srv/app.js:8:14:9", at(kBytecode + 18));
  codes->move(0x99999, kBytecode);  // of nothing
  EXPECT_EQ("", at(kBytecode));
}

TEST_F(CodesTest, CodeThatIsGoneIsWhatCameToItsPlace) {
  add_fill();
  codes->add(CodeKind::kBytecode, kBytecode + 50, 10, "JS:~later /srv/b.js:3:1");
  EXPECT_EQ("", at(kBytecode + 10));
  EXPECT_EQ("JS:later /srv/b.js:3:1:0", at(kBytecode + 55));
}

TEST_F(CodesTest, TheSameCodeAgainKeepsItsLines) {
  const uint32_t record = add_fill();
  EXPECT_EQ(record, codes->add(CodeKind::kBytecode, kBytecode, 100, "JS:~fill /srv/app.js:8:14"));
  EXPECT_EQ("JS:fill /srv/app.js:8:14:9", at(kBytecode + 10));
}

TEST_F(CodesTest, TiersAreOneFunction) {
  add_fill();
  codes->add(CodeKind::kMachineCode, kMachine, 64, "JS:*fill /srv/app.js:8:14");
  FoundCode bytecode{};
  FoundCode machine{};
  ASSERT_TRUE(codes->find(kBytecode, false, &bytecode));
  ASSERT_TRUE(codes->find(kMachine + 64, true, &machine));
  EXPECT_EQ(bytecode.name, machine.name);
  EXPECT_TRUE(bytecode.is_bytecode);
  EXPECT_FALSE(machine.is_bytecode);
  EXPECT_FALSE(machine.is_internal);
  const char* const others[] = {"LazyCompile:~fill /srv/app.js:8:14", "Function:^fill /srv/app.js:8:14",
                                "LazyCompile:fill /srv/app.js:8:14"};
  for (const char* other : others) {
    codes->add(CodeKind::kMachineCode, kMachine, 64, other);
    ASSERT_TRUE(codes->find(kMachine, false, &machine));
    EXPECT_EQ(bytecode.name, machine.name) << other;
  }
}

TEST_F(CodesTest, ItsOwnBytecodeIsFoundWhereItIsNow) {
  add_fill();
  const uint32_t machine = codes->add(CodeKind::kMachineCode, kMachine, 64, "JS:^fill /srv/app.js:8:14");
  Code own{};
  ASSERT_TRUE(codes->own_bytecode(machine, &own));
  EXPECT_EQ(kBytecode, own.start);
  codes->move(kBytecode, kBytecode + 0x2000);
  ASSERT_TRUE(codes->own_bytecode(machine, &own));
  EXPECT_EQ(kBytecode + 0x2000, own.start);
  uint32_t count = 0;
  ASSERT_NE(nullptr, codes->own_lines(machine, &count));
  EXPECT_EQ(3u, count);
  codes->add(CodeKind::kBytecode, kBytecode + 0x2000, 8, "JS:~other /srv/b.js:1:1");
  EXPECT_FALSE(codes->own_bytecode(machine, &own)) << "it is gone";
  EXPECT_EQ(nullptr, codes->own_lines(machine, &count));
}

TEST_F(CodesTest, WhatIsKeptIsOfTheTablesThatItWasKeptFor) {
  add_fill();
  FoundCode found{};
  ASSERT_TRUE(codes->find(kBytecode, false, &found));
  EXPECT_EQ(0u, codes->kept(found.name, 1));
  codes->keep(found.name, 1, 77);
  EXPECT_EQ(77u, codes->kept(found.name, 1));
  EXPECT_EQ(0u, codes->kept(found.name, 2));
}

TEST_F(CodesTest, FullTablesSaySoAndGoOnAfterClear) {
  std::string name = "JS:~";
  name.append(900, 'x');
  uint32_t count = 0;
  while (codes->add(CodeKind::kBytecode, kBytecode + 16 * count, 16, name + std::to_string(count)) !=
         Codes::kNone) {
    ++count;
  }
  EXPECT_GT(count, Codes::kMaxTextBytes / 1000);
  EXPECT_TRUE(codes->is_full());
  codes->clear();
  EXPECT_FALSE(codes->is_full());
  EXPECT_EQ("", at(kBytecode));
  add_fill();
  EXPECT_EQ("JS:fill /srv/app.js:8:14:8", at(kBytecode));
}

TEST_F(CodesTest, MillionsOfDroppedFunctionsTakeNoRecordForEver) {
  for (uint32_t i = 0; i < 2 * Codes::kMaxRecords; ++i) {
    ASSERT_NE(Codes::kNone,
              codes->add(CodeKind::kBytecode, kBytecode + i % 64 * 32, 32, "JS:~f /srv/a.js:1:1"));
    ASSERT_NE(Codes::kNone,
              codes->add(CodeKind::kBytecode, kBytecode + i % 64 * 32, 16, "JS:~g /srv/a.js:2:1"));
  }
  EXPECT_FALSE(codes->is_full());
}

TEST(ResolveInlined, AForeignPositionCountsAsTheOwnOneBefore) {
  const PositionLine own[] = {{0, 100, 8}, {10, 120, 9}, {40, 160, 11}};
  PositionLine lines[] = {{4, 7, 0}, {8, 120, 0}, {16, 999, 0}, {20, 160, 0}, {24, 3, 0}};
  resolve_inlined(lines, 5, own, 3);
  const uint32_t expected[] = {9, 9, 9, 11, 11};
  for (uint32_t i = 0; i < 5; ++i) {
    EXPECT_EQ(expected[i], lines[i].line) << i;
  }
}

}  // namespace
}  // namespace memprof::v8::codes_test
