// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/code/inlining.h"

#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace memprof::v8::inlining_test {
namespace {

constexpr uint32_t kHeader = 48;
constexpr TableForm kOld{kHeader, false};
constexpr TableForm kNew{kHeader, true};

void put(std::vector<uint8_t>* bytes, int64_t number) {
  auto bits = static_cast<uint64_t>(number) << 1 ^ static_cast<uint64_t>(number >> 63);
  do {
    bytes->push_back(static_cast<uint8_t>((bits & 0x7f) | (bits > 0x7f ? 0x80 : 0)));
    bits >>= 7;
  } while (bits != 0);
}

uint64_t raw(uint32_t position, int32_t call) {
  return static_cast<uint64_t>(position + 1) << 1 | static_cast<uint64_t>(call + 1) << 31;
}

// As V8 encodes it.
std::vector<uint8_t> encode(const std::vector<TablePosition>& positions, const TableForm& form) {
  std::vector<uint8_t> bytes;
  int64_t offset = 0;
  uint64_t before = 0;
  for (size_t i = 0; i < positions.size(); ++i) {
    const int64_t step = positions[i].offset - offset;
    const bool is_statement = i % 2 == 0;
    put(&bytes, form.marks_statements_below ? step << 1 | (is_statement ? 1 : 0)
                : is_statement              ? step
                                            : -step - 1);
    const uint64_t now = raw(positions[i].position, positions[i].call);
    put(&bytes, static_cast<int64_t>(now - before));
    offset = positions[i].offset;
    before = now;
  }
  return bytes;
}

Bytes view(const std::vector<uint8_t>& bytes) {
  return {bytes.data(), static_cast<uint32_t>(bytes.size())};
}

const std::vector<TablePosition> kPositions{{3, 120, -1}, {3, 125, -1}, {40, 77, 0},
                                            {45, 30, 1},  {300, 77, 0}, {310, 160, -1}};

TEST(Inlining, TablesAreDecodedInBothForms) {
  for (const TableForm& form : {kOld, kNew}) {
    TablePosition decoded[16];
    const auto bytes = encode(kPositions, form);
    ASSERT_EQ(kPositions.size(), decode_positions(view(bytes), form, 400, decoded, 16));
    for (size_t i = 0; i < kPositions.size(); ++i) {
      EXPECT_EQ(kPositions[i].offset, decoded[i].offset) << i;
      EXPECT_EQ(kPositions[i].position, decoded[i].position) << i;
      EXPECT_EQ(kPositions[i].call, decoded[i].call) << i;
    }
  }
}

TEST(Inlining, WhatIsNoTableIsNotDecoded) {
  TablePosition decoded[16];
  auto bytes = encode(kPositions, kOld);
  EXPECT_EQ(0u, decode_positions(view(bytes), kOld, 309, decoded, 16)) << "of longer code";
  EXPECT_EQ(0u, decode_positions(view(bytes), kOld, 400, decoded, 5)) << "no room";
  bytes.pop_back();
  EXPECT_EQ(0u, decode_positions(view(bytes), kOld, 400, decoded, 16)) << "cut";
  EXPECT_EQ(0u, decode_positions({nullptr, 0}, kOld, 400, decoded, 16));
  const std::vector<uint8_t> rubbish(40, 0xff);
  EXPECT_EQ(0u, decode_positions(view(rubbish), kOld, 400, decoded, 16));
}

// V8's objects around optimised code: [code] -> table; [code] -> deopt data -> inlined calls, literals -> functions
// -> bytecode.
struct Heap {
  std::unique_ptr<Codes> codes = std::make_unique<Codes>();
  std::vector<uint8_t> scratch = std::vector<uint8_t>(Inlining::kScratchBytes);
  alignas(8) uint64_t before[64] = {};
  alignas(8) uint64_t deopt_data[20] = {};
  alignas(8) uint64_t table[40] = {};
  alignas(8) uint64_t calls[8] = {};
  alignas(8) uint64_t literals[8] = {};
  alignas(8) uint64_t function[2][12] = {};
  alignas(8) uint64_t bytecode[3][32] = {};
  uint32_t record = 0;

  static uint64_t tagged(const void* object) { return reinterpret_cast<uint64_t>(object) + 1; }
  uint64_t start() const { return reinterpret_cast<uint64_t>(&before[32]); }

  void add_function(int i, const char* name, std::vector<PositionLine> lines) {
    const uint32_t added =
        codes->add(CodeKind::kBytecode, reinterpret_cast<uint64_t>(bytecode[i]) + kHeader, 100, name);
    codes->set_lines(added, lines.data(), static_cast<uint32_t>(lines.size()));
  }
  void set_positions(const std::vector<TablePosition>& positions) {
    const auto bytes = encode(positions, kOld);
    table[1] = static_cast<uint64_t>(bytes.size()) << 32;
    memcpy(&table[2], bytes.data(), bytes.size());
  }
  Heap() {
    add_function(0, "JS:~f /srv/a.js:1:1", {{0, 120, 2}, {4, 125, 3}, {9, 160, 4}});
    add_function(1, "JS:~mid /srv/b.js:10:1", {{0, 77, 11}, {4, 90, 12}});
    add_function(2, "JS:~leaf /srv/c.js:20:1", {{0, 30, 21}});
    record = codes->add(CodeKind::kMachineCode, start(), 400, "JS:*f /srv/a.js:1:1");
    set_positions(kPositions);
    calls[1] = uint64_t{32} << 32;
    calls[2] = raw(125, -1);  // mid, called by f
    calls[3] = 0;
    calls[4] = raw(90, 0);  // leaf, called by mid
    calls[5] = 1;
    literals[1] = uint64_t{2} << 32;
    literals[2] = tagged(function[0]);
    literals[3] = tagged(function[1]);
    function[0][2] = tagged(bytecode[1]);
    function[1][3] = tagged(bytecode[2]);
    deopt_data[3] = tagged(calls);
    deopt_data[5] = tagged(literals);
    before[30] = tagged(table);
    before[29] = tagged(deopt_data);
  }
  Inlining inlining;
  bool add_lines() {
    return inlining.add_lines(codes.get(), record, {start(), 400, record}, kOld, scratch.data());
  }
  // "leaf:21 mid:12 f:3", leaf first.
  std::string at(uint32_t offset) const {
    FoundCode found{};
    if (!codes->find(start() + offset, true, &found)) {
      return "";
    }
    const auto text = [&](uint32_t name, uint32_t line) -> std::string {
      if (name == Codes::kNone) return "?";
      const std::string_view whole = codes->name(name).substr(3);
      return std::string(whole.substr(0, whole.find(' '))) + ":" + std::to_string(line);
    };
    std::string frames;
    Codes::InlinedFrame frame{};
    for (uint32_t i = found.inlined; codes->inlined(i, &frame); i = frame.caller) {
      frames += text(frame.name, frame.line) + " ";
    }
    return frames + text(found.name, found.line);
  }
};

TEST(Inlining, FunctionsThatWereInlinedAreFrames) {
  Heap heap;
  ASSERT_TRUE(heap.add_lines());
  EXPECT_EQ("f:3", heap.at(30));
  EXPECT_EQ("mid:11 f:3", heap.at(42));
  EXPECT_EQ("leaf:21 mid:12 f:3", heap.at(50));
  EXPECT_EQ("mid:11 f:3", heap.at(302));
  EXPECT_EQ("f:4", heap.at(320));
}

TEST(Inlining, WithoutTheListOfCallsTheLinesAreTheFunctionsOwn) {
  Heap heap;
  heap.deopt_data[3] = 0;
  ASSERT_TRUE(heap.add_lines());
  EXPECT_EQ("f:3", heap.at(50));
  EXPECT_EQ("f:4", heap.at(320));
}

TEST(Inlining, PositionsThatTheFunctionDoesNotHaveAreNotTaken) {
  Heap heap;
  heap.function[1][3] = Heap::tagged(heap.bytecode[0]);
  heap.function[0][2] = Heap::tagged(heap.bytecode[2]);
  heap.add_function(2, "JS:~leaf /srv/c.js:20:1", {{0, 31, 21}, {1, 32, 22}});
  ASSERT_TRUE(heap.add_lines());
  const std::string frames = heap.at(50);
  EXPECT_TRUE(frames == "f:3" || frames.find("f:3") != std::string::npos) << frames;
  Heap other;
  other.add_function(0, "JS:~f /srv/a.js:1:1", {{0, 5, 2}});
  EXPECT_FALSE(other.add_lines()) << "a table of another function";
}

// V8 14 has such a list before that of the functions.  Each of its functions has one position here, which could be where
// the function begins.
TEST(Inlining, AListOfBytecodesIsNotTheListOfFunctions) {
  Heap heap;
  alignas(8) uint64_t wrappers[2][12] = {};
  alignas(8) uint64_t bytecodes[8] = {0, uint64_t{2} << 32};
  for (int i = 0; i < 2; ++i) {
    wrappers[i][1] = Heap::tagged(heap.bytecode[i]);
    heap.bytecode[i][4] = Heap::tagged(wrappers[i]);
    bytecodes[2 + i] = Heap::tagged(heap.bytecode[i]);
  }
  heap.deopt_data[4] = Heap::tagged(bytecodes);
  ASSERT_TRUE(heap.add_lines());
  EXPECT_EQ("mid:11 f:3", heap.at(42));
  EXPECT_EQ("leaf:21 mid:12 f:3", heap.at(50));
}

// A function that calls itself, which the compiler inlined: mid is f here.
TEST(Inlining, AFunctionThatWasInlinedIntoItselfIsNotListed) {
  Heap heap;
  auto positions = kPositions;
  positions[2].position = positions[4].position = 120;
  heap.set_positions(positions);
  heap.calls[3] = UINT32_MAX;
  heap.calls[4] = raw(160, 0);
  ASSERT_TRUE(heap.add_lines());
  EXPECT_EQ("f:2 f:3", heap.at(42));
  EXPECT_EQ("leaf:21 f:4 f:3", heap.at(50));
}

TEST(Inlining, APositionWhereTheFunctionBeginsIsInNoBytecode) {
  Heap heap;
  auto positions = kPositions;
  positions.insert(positions.begin(), {1, 117, -1});
  heap.set_positions(positions);
  ASSERT_TRUE(heap.add_lines());
  EXPECT_EQ("leaf:21 mid:12 f:3", heap.at(50));
}

// As those of Node's own scripts, of which V8 tells positions and nobody asks for lines.
TEST(Inlining, PositionsWithoutLinesTellWhatWasInlined) {
  Heap heap;
  heap.add_function(0, "JS:~f /srv/a.js:1:1", {{0, 120, 0}, {4, 125, 0}, {9, 160, 0}});
  ASSERT_TRUE(heap.add_lines());
  EXPECT_EQ("f:0", heap.at(30));
  EXPECT_EQ("leaf:21 mid:12 f:0", heap.at(50));
}

// A function that is older than V8's events has no positions: its table is taken where those of others were.
TEST(Inlining, AFunctionWithoutPositionsIsReadWhereTheTablesOfOthersWere) {
  Heap heap;
  heap.record = heap.codes->add(CodeKind::kMachineCode, heap.start(), 400, "JS:*emit node:events:1:1");
  EXPECT_FALSE(heap.add_lines()) << "nowhere yet";
  Code lacking{};
  ASSERT_TRUE(heap.codes->find_lacking(0, &lacking)) << "until more is known";
  EXPECT_EQ(heap.record, lacking.record);
  Heap other;
  ASSERT_TRUE(other.add_lines());
  ASSERT_TRUE(other.inlining.add_lines(heap.codes.get(), heap.record, {heap.start(), 400, heap.record}, kOld,
                                       heap.scratch.data()));
  EXPECT_EQ("leaf:21 mid:12 emit:0", heap.at(50));
  EXPECT_EQ("emit:0", heap.at(30));
  EXPECT_FALSE(heap.codes->find_lacking(0, &lacking));
}

TEST(Inlining, WithoutPositionsAndWithoutTheListOfCallsNothingIsTaken) {
  Heap heap;
  heap.record = heap.codes->add(CodeKind::kMachineCode, heap.start(), 400, "JS:*emit node:events:1:1");
  heap.deopt_data[3] = 0;
  Heap other;
  ASSERT_TRUE(other.add_lines());
  EXPECT_FALSE(other.inlining.add_lines(heap.codes.get(), heap.record, {heap.start(), 400, heap.record}, kOld,
                                        heap.scratch.data()));
  EXPECT_EQ("emit:0", heap.at(50));
}

// V8 tells of optimised code before it tells of what is inlined there.
TEST(Inlining, WhatIsNotKnownYetIsAFrameWithoutANameUntilItIs) {
  Heap heap;
  alignas(8) uint64_t unheard_of[32] = {};
  heap.function[1][3] = Heap::tagged(unheard_of);
  ASSERT_TRUE(heap.add_lines());
  EXPECT_EQ("mid:11 f:3", heap.at(42));
  EXPECT_EQ("? mid:12 f:3", heap.at(50));
  FoundCode found{};
  ASSERT_TRUE(heap.codes->find(heap.start() + 50, true, &found));
  EXPECT_TRUE(found.lacks_inlined);
  heap.function[1][3] = Heap::tagged(heap.bytecode[2]);
  Code lacking{};
  ASSERT_TRUE(heap.codes->find_lacking(0, &lacking));
  EXPECT_EQ(heap.start(), lacking.start);
  ASSERT_TRUE(heap.add_lines());
  EXPECT_EQ("leaf:21 mid:12 f:3", heap.at(50));
  ASSERT_TRUE(heap.codes->find(heap.start() + 50, true, &found));
  EXPECT_FALSE(found.lacks_inlined);
}

TEST(Inlining, GivenUpPlacesAreLookedForAgainWhenMoreIsKnown) {
  Heap heap;
  heap.before[30] = 0;
  for (int i = 0; i < 40; ++i) EXPECT_FALSE(heap.add_lines());
  heap.before[30] = Heap::tagged(heap.table);
  EXPECT_FALSE(heap.add_lines());
  heap.inlining.try_again();
  EXPECT_TRUE(heap.add_lines());
  EXPECT_EQ("leaf:21 mid:12 f:3", heap.at(50));
}

}  // namespace
}  // namespace memprof::v8::inlining_test
