// SPDX-License-Identifier: Apache-2.0
#include "profile/text/cells.h"

#include <gtest/gtest.h>

#include <random>
#include <string>

#include "profile/names/short_name.h"

namespace memprof::profile {
namespace {

TEST(Cells, TextEndsAtTheEdge) {
  Cells cells(5, 2);
  EXPECT_EQ(cells.put(0, 2, "abcdef"), 5U);
  EXPECT_EQ(cells.put(1, 0, "x"), 1U);
  cells.put(2, 0, "below");
  cells.put(0, 9, "beside");
  EXPECT_EQ(cells.text(), "  abc\nx\n");
  EXPECT_EQ(cells.put_until(1, 1, 3, "yzw"), 3U);
  EXPECT_EQ(cells.row_text(1), "xyz");
}

TEST(Cells, TextStandsAtTheRight) {
  Cells cells(6, 3);
  cells.put_right(0, 6, "12");
  cells.put_right(1, 4, "中1");
  cells.put_right(2, 3, "12345");
  EXPECT_EQ(cells.text(), "    12\n 中1\n123\n");
}

TEST(Cells, AWideCharacterIsWholeOrNotThere) {
  Cells cells(5, 1);
  EXPECT_EQ(cells.put(0, 0, "中文字"), 4U) << "the third has one column only";
  EXPECT_EQ(cells.row_text(0), "中文");
  cells.put(0, 1, "x");
  EXPECT_EQ(cells.row_text(0), " x文") << "half of what was there is no character";
  cells.put(0, 1, "中");
  EXPECT_EQ(cells.row_text(0), " 中") << "its second half is over the first of another";
}

TEST(Cells, MarksStandOverTheirCharacter) {
  Cells cells(3, 1);
  EXPECT_EQ(cells.put(0, 0,
                      "\xcc\x81"
                      "e\xcc\x81x"),
            2U);
  EXPECT_EQ(cells.row_text(0), "e\xcc\x81x");
  std::string many = "a";
  for (int i = 0; i < 1000; ++i) many += "\xcc\x81";
  cells.put(0, 0, many);
  EXPECT_LT(cells.row_text(0).size(), 40U);
}

TEST(Cells, NothingSteersTheTerminal) {
  Cells cells(12, 1);
  cells.put(0, 0, "a\x1b[2J\n\x07\xff\xe2\x80\xae");  // clears, rings, not UTF-8, right to left
  EXPECT_EQ(cells.row_text(0), "a?[2J??????");
}

TEST(Cells, AnyBytesFillNoMoreThanTheFrame) {
  std::mt19937 random(17);
  for (int round = 0; round < 300; ++round) {
    Cells cells(20, 3);
    for (int i = 0; i < 8; ++i) {
      std::string text;
      for (unsigned length = random() % 60; length > 0; --length) text += static_cast<char>(random());
      if (i % 2 == 0) text += "文é😀";
      cells.put(random() % 4, random() % 24, text, {Color::kRed, i % 2 == 0, false, i % 3 == 0});
    }
    for (size_t row = 0; row < 3; ++row) {
      EXPECT_LE(text_width(cells.row_text(row)), 20U);
      EXPECT_EQ(cells.row_text(row).find('\x1b'), std::string::npos);
    }
  }
}

TEST(Cells, StylesAreSequences) {
  Cells cells(8, 1);
  cells.put(0, 0, "ab", {Color::kRed, true, false, false});
  cells.put(0, 2, "c");
  EXPECT_EQ(cells.row_sequence(0, true), "\x1b[0;1;31mab\x1b[0mc");
  EXPECT_EQ(cells.row_sequence(0, false), "\x1b[0;1mab\x1b[0mc");
  cells.set_style(0, {Color::kNone, false, false, true});
  EXPECT_EQ(cells.row_sequence(0, true), "\x1b[0;7mabc     \x1b[0m") << "its ground is seen";
  EXPECT_EQ(style_sequence({Color::kCyan, false, true, true}, true), "\x1b[0;2;7;36m");
}

}  // namespace
}  // namespace memprof::profile
