// SPDX-License-Identifier: Apache-2.0
// Eight hexadecimal digits at once, as comments have doubles: a profile of hundreds of thousands of stacks has tens of
// millions of digits.
//
// Model: the digits are the bytes of a word, the first one in the lowest byte, as they lie in memory.
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace memprof::profile {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "digits lie in memory as bytes of a word");

inline constexpr size_t kHexDigits = 8;
inline constexpr uint64_t kEachByte = 0x0101010101010101u;

// Eight numbers below 16, one a byte, as digits.
inline uint64_t hex_of_nibbles(uint64_t nibbles) {
  const uint64_t is_letter = (nibbles + 6 * kEachByte) >> 4 & kEachByte;
  return nibbles + '0' * kEachByte + is_letter * ('a' - '0' - 10);
}

// The highest digit first.
inline uint64_t hex_text(uint32_t value) {
  uint64_t nibbles = value;
  nibbles = (nibbles & 0xffff) << 32 | nibbles >> 16;
  nibbles = (nibbles & 0x000000ff000000ffu) << 16 | (nibbles & 0x0000ff000000ff00u) >> 8;
  nibbles = (nibbles & 0x000f000f000f000fu) << 8 | (nibbles & 0x00f000f000f000f0u) >> 4;
  return hex_of_nibbles(nibbles);
}

// Nothing: these are not eight digits as hex_text() makes them.
inline std::optional<uint32_t> hex_value(uint64_t text) {
  const uint64_t is_letter = text >> 6 & kEachByte;
  const uint64_t nibbles = (text & 0x0f * kEachByte) + is_letter * 9;
  if ((nibbles & 0xf0 * kEachByte) != 0 || hex_of_nibbles(nibbles) != text) {
    return std::nullopt;
  }
  uint64_t value = nibbles;
  value = (value & 0x000f000f000f000fu) << 4 | (value & 0x0f000f000f000f00u) >> 8;
  value = (value & 0x000000ff000000ffu) << 8 | (value & 0x00ff000000ff0000u) >> 16;
  value = (value & 0xffff) << 16 | value >> 32;
  return static_cast<uint32_t>(value);
}

}  // namespace memprof::profile
