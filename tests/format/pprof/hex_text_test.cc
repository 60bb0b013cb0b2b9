// SPDX-License-Identifier: Apache-2.0
#include "format/pprof/hex_text.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <random>

namespace memprof::profile {
namespace {

std::string text_of(uint64_t digits) {
  char text[sizeof(digits)];
  std::memcpy(text, &digits, sizeof(digits));
  return {text, sizeof(text)};
}

TEST(HexText, IsWhatPrintfWrites) {
  std::mt19937_64 random(1);
  for (uint64_t i = 0; i < 200000; ++i) {
    const auto value = static_cast<uint32_t>(i < 70000 ? i : random());
    char expected[kHexDigits + 1];
    std::snprintf(expected, sizeof(expected), "%08x", value);
    ASSERT_EQ(expected, text_of(hex_text(value)));
    ASSERT_EQ(value, hex_value(hex_text(value)));
  }
}

TEST(HexText, OtherCharactersAreRefused) {
  std::mt19937_64 random(2);
  for (int place = 0; place < 8; ++place) {
    for (int c = 0; c < 256; ++c) {
      uint64_t text = hex_text(static_cast<uint32_t>(random()));
      const auto byte = static_cast<unsigned char>(c);
      std::memcpy(reinterpret_cast<char*>(&text) + place, &byte, 1);
      const bool is_digit = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
      EXPECT_EQ(is_digit, hex_value(text).has_value()) << place << ' ' << c;
    }
  }
}

}  // namespace
}  // namespace memprof::profile
