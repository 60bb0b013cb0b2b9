// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/lines/line_table.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "tests/support/engine.h"

namespace memprof::cpython::line_table_test {
namespace {

// co_linetable of a function of 3.11 with a comprehension, 150 empty lines, `with` and `for` over several
// lines; and where its co_positions() changes the line.
constexpr char kTable[] =
    "8000f00401090ff00001090f9041f00001090ff10001090ff40001090f8041f57604000a0e886189178c17f0000305119041dd11"
    "16907191189418f000020911f000020911884198319f389a38d80d0ed80d0ef003010d10f103021c11f400021c11f000021c11f0"
    "00021c11f000020911f003030511f000030511f000030511f100030511f400030511f000030511f000030511f000030511f00003"
    "0511f000030511f000030511f8f8f8f000030511f000030511f000030511f000030511f008000c0d8048";
constexpr uint32_t kFirstLine = 2;
constexpr uint32_t kBytes = 192;
constexpr struct {
  uint32_t position, line;
} kTruth[] = {{0, 2},     {2, 4},     {26, 159},  {58, 160}, {116, 161}, {118, 162},
              {120, 161}, {122, 160}, {142, 159}, {174, 0},  {180, 159}, {188, 163}};

std::vector<uint8_t> table() {
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i + 1 < sizeof(kTable); i += 2) {
    bytes.push_back(static_cast<uint8_t>(std::stoi(std::string(kTable + i, 2), nullptr, 16)));
  }
  return bytes;
}

TEST(LineTable, TellsWhatTheInterpreterTells) {
  const auto bytes = table();
  uint32_t line = 0;
  size_t next = 0;
  for (uint32_t position = 0; position < kBytes; position += 2) {
    if (next < std::size(kTruth) && kTruth[next].position == position) {
      line = kTruth[next++].line;
    }
    EXPECT_EQ(line, line_at(bytes.data(), bytes.size(), kFirstLine, position)) << position;
  }
  EXPECT_EQ(std::size(kTruth), next);
}

TEST(LineTable, KnowsNothingBeyondTheCode) {
  const auto bytes = table();
  EXPECT_EQ(0u, line_at(bytes.data(), bytes.size(), kFirstLine, kBytes));
  EXPECT_EQ(0u, line_at(bytes.data(), bytes.size(), kFirstLine, UINT32_MAX));
  EXPECT_EQ(0u, line_at(nullptr, 0, kFirstLine, 0));
}

TEST(LineTable, ATableThatIsCutTellsTheLinesBeforeTheCut) {
  auto bytes = table();
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<uint8_t> cut(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size));
    line_at(cut.data(), cut.size(), kFirstLine, kBytes - 2);  // the sanitizers watch
    if (size > 1) {
      EXPECT_EQ(2u, line_at(cut.data(), cut.size(), kFirstLine, 0));
    }
  }
}

TEST(LineTable, GarbageEndsAndIsNoLineBelowZero) {
  testing_support::Random random(20);
  for (int round = 0; round < 20000; ++round) {
    std::vector<uint8_t> bytes(random.below(40));
    for (uint8_t& byte : bytes) {
      byte = static_cast<uint8_t>(random.next());
    }
    const auto position = static_cast<uint32_t>(random.below(300));
    EXPECT_LE(line_at(bytes.data(), bytes.size(), 5, position), static_cast<uint32_t>(INT32_MAX));
  }
}

}  // namespace
}  // namespace memprof::cpython::line_table_test
