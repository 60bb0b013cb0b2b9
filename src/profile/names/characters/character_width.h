// SPDX-License-Identifier: Apache-2.0
// How many columns of a terminal a character takes: 2 where it is wide (Chinese, most emoji), 0 where it stands
// over the one before it, else 1.
//
// No locale is asked: what a program in the C locale prints is drawn by a terminal that knows Unicode.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace memprof::profile {

size_t character_width(uint32_t code);

struct Character {
  uint32_t code = 0;
  size_t length = 1;  // bytes
  size_t width = 1;   // columns
  bool is_broken = false;
};

// Of UTF-8 text.  A byte that begins no character (RFC 3629: also of one that is longer than need be, and of a surrogate)
// is a broken one of one column.
Character character_at(std::string_view text, size_t at);

inline constexpr char kReplacementCharacter[] = "\xEF\xBF\xBD";  // U+FFFD

// The text with kReplacementCharacter for each broken byte.
std::string valid_utf8(std::string_view bytes);

}  // namespace memprof::profile
