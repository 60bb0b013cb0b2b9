// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/pdb/line_programs.h"

#include <gtest/gtest.h>

#include <string>

#include "tests/profile/symbolize/pdb/pdb_bytes.h"

namespace memprof::profile {
namespace {

using fixture::Bytes;

std::string ranges_of(const std::string& program) {
  std::string text;
  for (const InlineRange& range : inline_ranges(program)) {
    text += "[" + std::to_string(range.begin) + "," + std::to_string(range.end) + ")" +
            (range.line_delta < 0 ? "" : "+") + std::to_string(range.line_delta);
    if (range.file != InlineRange::kSameFile) text += "@" + std::to_string(range.file);
    text += " ";
  }
  return text;
}

TEST(LinePrograms, ANewOffsetEndsTheRangeBeforeIt) {
  EXPECT_EQ(ranges_of(Bytes().u8(3).u8(8).u8(11).u8(0x24).u8(4).u8(5).bytes()), "[8,12)+0 [12,17)+1 ");
}

TEST(LinePrograms, RangesCountFromTheEndOfTheLast) {
  EXPECT_EQ(ranges_of(Bytes().u8(3).u8(8).u8(4).u8(4).u8(3).u8(2).u8(4).u8(1).bytes()),
            "[8,12)+0 [14,15)+0 ");
}

TEST(LinePrograms, LengthAndOffsetAreOneInstruction) {
  EXPECT_EQ(ranges_of(Bytes().u8(12).u8(3).u8(16).u8(12).u8(2).u8(4).bytes()), "[16,19)+0 [20,22)+0 ");
}

TEST(LinePrograms, LinesGoBackAndFilesChange) {
  // -3, then file 24, then a kind, columns and ends of statements, which nobody asks for.
  EXPECT_EQ(ranges_of(Bytes()
                          .u8(6)
                          .u8(7)
                          .u8(3)
                          .u8(1)
                          .u8(5)
                          .u8(24)
                          .u8(6)
                          .u8(4)
                          .u8(3)
                          .u8(1)
                          .u8(8)
                          .u8(1)
                          .u8(9)
                          .u8(2)
                          .u8(10)
                          .u8(3)
                          .u8(13)
                          .u8(9)
                          .u8(7)
                          .u8(1)
                          .u8(4)
                          .u8(1)
                          .bytes()),
            "[1,2)-3 [2,3)-1@24 ");
}

TEST(LinePrograms, NumbersHaveOneTwoOrFourBytes) {
  EXPECT_EQ(ranges_of(Bytes().u8(3).u8(0x81).u8(0x02).u8(4).u8(0xc0).u8(1).u8(0).u8(0).bytes()),
            "[258,65794)+0 ");
}

TEST(LinePrograms, WhatIsNotKnownEndsIt) {
  const std::string range = Bytes().u8(3).u8(1).u8(4).u8(1).bytes();
  EXPECT_EQ(ranges_of(""), "");
  EXPECT_EQ(ranges_of(range + Bytes().u8(0).bytes() + range), "[1,2)+0 ");
  EXPECT_EQ(ranges_of(range + Bytes().u8(14).u8(1).bytes() + range), "[1,2)+0 ");
  EXPECT_EQ(ranges_of(range + Bytes().u8(0xff).u8(1).bytes() + range), "[1,2)+0 ");
  // The code of another part of the function.
  EXPECT_EQ(ranges_of(range + Bytes().u8(2).u8(0).bytes() + range + Bytes().u8(2).u8(1).bytes() + range),
            "[1,2)+0 [3,4)+0 ");
  // Cut in a number; and a range that nothing ends.
  EXPECT_EQ(ranges_of(range + Bytes().u8(4).u8(0x80).bytes()), "[1,2)+0 ");
  EXPECT_EQ(ranges_of(range + Bytes().u8(12).u8(1).bytes()), "[1,2)+0 ");
  EXPECT_EQ(ranges_of(range + Bytes().u8(3).u8(1).bytes()), "[1,2)+0 ");
}

}  // namespace
}  // namespace memprof::profile
