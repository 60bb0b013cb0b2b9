// SPDX-License-Identifier: Apache-2.0
#include "format/printable.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace memprof {
namespace {

TEST(Printable, TextIsWhole) {
  for (const char* text : {"", "plain text ~", "grüße", "日本語", "😀 ok"}) {
    EXPECT_EQ(strlen(text), printable_length(text)) << text;
  }
}

TEST(Printable, EndsBeforeWhatControls) {
  for (const char* control : {"\x1b[2J", "\n", "\t", "\x7f", "\xc2\x9b", "\xd8\x9c", "\xe2\x80\x8f",
                              "\xe2\x80\xae", "\xe2\x81\xa6", "\xe2\x80\xa8"}) {
    EXPECT_EQ(2u, printable_length((std::string("ab") + control + "c").c_str()));
  }
}

TEST(Printable, EndsBeforeWhatIsNoCharacter) {
  for (const char* bytes :
       {"\x80", "\x9b", "\xff", "\xc0\xaf", "\xe2\x82", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2"}) {
    EXPECT_EQ(1u, printable_length((std::string("a") + bytes).c_str()));
  }
}

}  // namespace
}  // namespace memprof
