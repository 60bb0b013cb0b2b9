// SPDX-License-Identifier: Apache-2.0
#include "format/printable.h"

#include <cstdint>

namespace memprof {
namespace {

bool is_control(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c ||
         (code >= 0x200b && code <= 0x200f) || (code >= 0x2028 && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

// Of the character at the beginning of the text; 0: it is none, or controls something.
size_t character_length(const char* text) {
  const auto byte = [text](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char first = byte(0);
  if (first < 0x80) {
    return is_control(first) ? 0 : 1;
  }
  if (first < 0xc2 || first > 0xf4) {
    return 0;
  }
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  uint32_t code = first & (0x7fu >> length);
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) {  // the NUL at the end, too
      return 0;
    }
    code = code << 6 | (byte(i) & 0x3fu);
  }
  const bool is_overlong = (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
  const bool is_surrogate = code >= 0xd800 && code <= 0xdfff;
  return is_overlong || is_surrogate || code > 0x10ffff || is_control(code) ? 0 : length;
}

}  // namespace

size_t printable_length(const char* text) {
  size_t length = 0;
  while (const size_t more = character_length(text + length)) {
    length += more;
  }
  return length;
}

}  // namespace memprof
