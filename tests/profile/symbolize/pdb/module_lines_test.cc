// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pdb/module_lines.h"

#include <gtest/gtest.h>

#include <string>
#include <unordered_map>
#include <vector>

#include "tests/profile/symbolize/pdb/pdb_bytes.h"

namespace memprof::profile {
namespace {

using fixture::Bytes;
using fixture::files_subsection;
using fixture::lines_subsection;
using fixture::subsection;

// "file:line"; "-": no line is known.
std::vector<std::string> lines(const std::string& subsections, const std::vector<uint32_t>& offsets) {
  std::vector<CodePlace> places;
  for (const uint32_t offset : offsets) places.push_back({1, offset});
  std::vector<std::string> all;
  for (const PdbLine& line : ModuleLines(subsections).lines_of(places)) {
    all.push_back(
        line.file == PdbLine::kNoFile ? "-" : std::to_string(line.file) + ":" + std::to_string(line.line));
  }
  return all;
}

using Lines = std::vector<std::string>;

TEST(ModuleLines, ALineIsThatOfTheLastEntryBefore) {
  const std::string text =
      lines_subsection(0x100, 0x20, 8, {{0, 5}, {4, 6}, {4, 7}, {16, 0xfeefee}, {24, 0xf00f00}, {28, 9}}) +
      files_subsection({70, 90});
  EXPECT_EQ(lines(text, {0xff, 0x100, 0x103, 0x104, 0x10f, 0x110, 0x118, 0x11f, 0x120}),
            (Lines{"-", "90:5", "90:5", "90:7", "90:7", "90:0", "90:0", "90:9", "-"}));
}

// A function has a block for each part of a file in it.
TEST(ModuleLines, BlocksOfSeveralFilesMix) {
  Bytes data;
  data.u32(0x100).u16(1).u16(1).u32(0x20);  // with columns
  data.u32(0).u32(2).u32(12 + 2 * 12).u32(0).u32(1).u32(16).u32(3).zeros(8);
  data.u32(8).u32(1).u32(12 + 12).u32(8).u32(2).zeros(4);
  const std::string text = files_subsection({70, 90}) + subsection(0xf2, data.bytes());
  EXPECT_EQ(lines(text, {0x100, 0x107, 0x108, 0x10f, 0x110, 0x11f}),
            (Lines{"70:1", "70:1", "90:2", "90:2", "70:3", "70:3"}));
}

TEST(ModuleLines, OfFunctionsThatWereFoldedTheFirstCounts) {
  const std::string text = files_subsection({70}) + lines_subsection(0x100, 0x10, 0, {{0, 5}}) +
                           lines_subsection(0x100, 0x20, 0, {{0, 50}, {8, 51}});
  EXPECT_EQ(lines(text, {0x100, 0x10f, 0x110}), (Lines{"70:5", "70:5", "70:51"}));
}

TEST(ModuleLines, OtherSectionsAndSubsectionsAreNotMeant) {
  const std::string text = files_subsection({70}) + lines_subsection(0x100, 0x10, 0, {{0, 5}}, 2) +
                           subsection(0x800000f2, lines_subsection(0x100, 0x10, 0, {{0, 5}}).substr(8));
  EXPECT_EQ(lines(text, {0x100}), Lines{"-"});
}

TEST(ModuleLines, InlinedFunctionsHaveTheirBeginnings) {
  const std::string text =
      subsection(0xf6, Bytes().u32(0).u32(1).u32(8).u32(20).u32(2).u32(0).u32(30).bytes()) +
      subsection(
          0xf6,
          Bytes().u32(1).u32(3).u32(8).u32(40).u32(2).u32(0).u32(8).u32(4).u32(0).u32(50).u32(0).bytes());
  std::unordered_map<uint32_t, PdbLine> found{{2, {}}, {3, {}}, {4, {}}, {5, {}}};
  ModuleLines(text).find_inlinees(&found);
  EXPECT_EQ(found[2].line, 30);
  EXPECT_EQ(found[3].line, 40);
  EXPECT_EQ(found[3].file, 8u);
  EXPECT_EQ(found[4].line, 50);
  EXPECT_EQ(found[5].file, PdbLine::kNoFile);
  EXPECT_EQ(found.size(), 4u);
}

TEST(ModuleLines, DamagedOnesAreAnswered) {
  const std::string whole = lines_subsection(0x100, 0x20, 0, {{0, 5}, {4, 6}}) + files_subsection({70}) +
                            subsection(0xf6, Bytes().u32(1).u32(3).u32(8).u32(40).u32(UINT32_MAX).bytes());
  std::unordered_map<uint32_t, PdbLine> found{{3, {}}};
  for (size_t size = 0; size < whole.size(); ++size) {
    lines(whole.substr(0, size), {0x100, 0x110});
    ModuleLines(whole.substr(0, size)).find_inlinees(&found);
  }
  // A number of lines that is not there, and a block that says that it is empty.
  Bytes damaged;
  damaged.raw(whole);
  damaged.set_u32(8 + 12 + 4, UINT32_MAX);
  damaged.set_u32(8 + 12 + 8, 0);
  EXPECT_EQ(lines(damaged.bytes(), {0x100}), Lines{"-"});
}

}  // namespace
}  // namespace memprof::profile
