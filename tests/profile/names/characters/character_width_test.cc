// SPDX-License-Identifier: Apache-2.0
#include "profile/names/characters/character_width.h"

#include <gtest/gtest.h>

#include <string>

namespace memprof::profile {
namespace {

TEST(CharacterWidth, IsOfTheCharacter) {
  EXPECT_EQ(character_width('a'), 1U);
  EXPECT_EQ(character_width(0xe9), 1U) << "é";
  EXPECT_EQ(character_width(0x301), 0U) << "an accent over what is before it";
  EXPECT_EQ(character_width(0x2026), 1U) << "…";
  EXPECT_EQ(character_width(0x2588), 1U) << "a block of a bar";
  EXPECT_EQ(character_width(0x4e2d), 2U);
  EXPECT_EQ(character_width(0xac00), 2U);
  EXPECT_EQ(character_width(0xff21), 2U) << "a wide A";
  EXPECT_EQ(character_width(0x1f600), 2U) << "a face";
  EXPECT_EQ(character_width(0x20000), 2U);
  EXPECT_EQ(character_width(0x10ffff), 1U);
}

TEST(CharacterWidth, IsReadFromText) {
  const std::string text = "a\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80";
  const Character expected[] = {
      {'a', 1, 1, false}, {0xe9, 2, 1, false}, {0x4e2d, 3, 2, false}, {0x1f600, 4, 2, false}};
  size_t at = 0;
  for (const Character& one : expected) {
    const Character read = character_at(text, at);
    EXPECT_EQ(read.code, one.code);
    EXPECT_EQ(read.length, one.length);
    EXPECT_EQ(read.width, one.width);
    EXPECT_FALSE(read.is_broken);
    at += read.length;
  }
  EXPECT_EQ(at, text.size());
}

TEST(CharacterWidth, ABrokenByteIsOneColumn) {
  for (const char* text : {"\x80", "\xff", "\xc3", "\xe4\xb8", "\xc3(", "\xf5\x80\x80\x80", "\xc0\xaf",
                           "\xe0\x80\xaf", "\xf0\x80\x80\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80"}) {
    const Character read = character_at(text, 0);
    EXPECT_TRUE(read.is_broken) << text;
    EXPECT_EQ(read.length, 1U) << text;
    EXPECT_EQ(read.width, 1U) << text;
  }
}

TEST(CharacterWidth, BrokenBytesAreReplaced) {
  EXPECT_EQ(valid_utf8("a\xc3\xa9\xed\xa0\x80z"), "a\xc3\xa9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDz");
  EXPECT_EQ(valid_utf8(std::string("\0\n", 2)), std::string("\0\n", 2)) << "control characters are text";
}

}  // namespace
}  // namespace memprof::profile
