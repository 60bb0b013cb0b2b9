// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/code/baseline.h"

#include <gtest/gtest.h>

#include <vector>

namespace memprof::v8::baseline_test {
namespace {

// A version with prefixes (0 to 3), 4: alone, 5: one operand that is made wider, 6: that and two bytes that stay.
constexpr char kSizes[] = "01010101011113";

struct Table {
  std::vector<uint8_t> bytecode{4, 5, 9, 6, 9, 9, 9, 0, 5, 9, 9, 1, 5, 9, 9, 9, 9, 4};
  // 20 bytes before the first, then 10, 300 (two bytes), 5, 6, 7, 8.
  std::vector<uint8_t> ends{20, 10, 0x80 | (300 & 127), 300 >> 7, 5, 6, 7};
  std::vector<PositionLine> own{{0, 1, 1}, {1, 2, 2}, {7, 3, 2}, {11, 4, 5}};
  uint32_t machine_bytes = 400;

  std::vector<PositionLine> lines() const {
    std::vector<PositionLine> found(16);
    const BaselineCode code{kSizes,
                            {bytecode.data(), static_cast<uint32_t>(bytecode.size())},
                            machine_bytes,
                            own.data(),
                            static_cast<uint32_t>(own.size())};
    found.resize(make_baseline_lines(code, {ends.data(), static_cast<uint32_t>(ends.size())}, found.data(),
                                     static_cast<uint32_t>(found.size())));
    return found;
  }
};

TEST(Baseline, EachBytecodesMachineCodeHasItsLine) {
  Table table;
  table.ends.push_back(8);
  const auto lines = table.lines();
  ASSERT_EQ(3u, lines.size()) << "a line that goes on is one";
  const PositionLine expected[] = {{20, 1, 1}, {30, 2, 2}, {341, 4, 5}};
  for (size_t i = 0; i < lines.size(); ++i) {
    EXPECT_EQ(expected[i].offset, lines[i].offset) << i;
    EXPECT_EQ(expected[i].line, lines[i].line) << i;
  }
}

TEST(Baseline, ATableOfOtherCodeIsNone) {
  Table table;
  EXPECT_TRUE(table.lines().empty()) << "an end is missing";
  table.ends.push_back(8);
  ASSERT_FALSE(table.lines().empty());
  Table longer = table;
  longer.machine_bytes = 1000;
  EXPECT_TRUE(longer.lines().empty()) << "it ends far before the code does";
  Table shorter = table;
  shorter.machine_bytes = 300;
  EXPECT_TRUE(shorter.lines().empty()) << "it ends behind the code";
  Table more = table;
  more.ends.insert(more.ends.end(), 8, 1);
  EXPECT_TRUE(more.lines().empty()) << "more ends than bytecodes";
  Table unknown = table;
  unknown.bytecode[0] = 7;
  EXPECT_TRUE(unknown.lines().empty()) << "no such bytecode";
  Table cut = table;
  cut.bytecode.back() = 6;
  EXPECT_TRUE(cut.lines().empty()) << "the last bytecode does not end";
}

TEST(Baseline, KnownVersionsHaveSizesOfAllTheirBytecodes) {
  for (const uint32_t version : {0x0a02u, 0x0b03u, 0x0c04u, 0x0d06u, 0x0e06u}) {
    const char* const sizes = bytecode_sizes(version);
    ASSERT_NE(nullptr, sizes);
    EXPECT_EQ(0u, std::string(sizes).size() % 2);
    EXPECT_GT(std::string(sizes).size(), 2u * 190);
    EXPECT_EQ("01010101", std::string(sizes, 8)) << "the prefixes";
  }
  EXPECT_EQ(nullptr, bytecode_sizes(0x0a01));
}

}  // namespace
}  // namespace memprof::v8::baseline_test
