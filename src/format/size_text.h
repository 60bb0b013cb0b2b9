// SPDX-License-Identifier: Apache-2.0
// Sizes as people write them: the same in variables of the environment and in options of the command.
//
// Signals, fork: pure.
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace memprof {

namespace size_text {

inline bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

inline char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

// Takes the character, in either case, from the beginning of the text.
inline bool take(char wanted, std::string_view* text) {
  if (text->empty() || lower(text->front()) != wanted) {
    return false;
  }
  text->remove_prefix(1);
  return true;
}

// "", "B", "k", "kB", "KiB" and so on up to P, powers of 1024, whatever the case.  -1: not that.
inline int shift_of_unit(std::string_view unit) {
  constexpr std::string_view kUnits = "kmgtp";
  if (unit.size() > 1 && unit.front() == ' ') {
    unit.remove_prefix(1);
  }
  int shift = 0;
  if (!unit.empty() && lower(unit.front()) != 'b') {
    const size_t found = kUnits.find(lower(unit.front()));
    if (found == std::string_view::npos) {
      return -1;
    }
    shift = 10 * static_cast<int>(found + 1);
    unit.remove_prefix(1);
    if (unit.size() > 1) {
      take('i', &unit);
    }
  }
  take('b', &unit);
  return unit.empty() ? shift : -1;
}

}  // namespace size_text

// `0`, `4096`, `64k`, `64K`, `64KB`, `64 KiB`, `0.5M`, `1G`: powers of 1024, up to P, whatever the case.  false:
// it is not that, no whole number of bytes, or too large for 64 bits.
inline bool parse_size(std::string_view text, uint64_t* bytes) {
  uint64_t n = 0;
  size_t at = 0;
  for (; at < text.size() && size_text::is_digit(text[at]); ++at) {
    if (__builtin_mul_overflow(n, uint64_t{10}, &n) ||
        __builtin_add_overflow(n, uint64_t(text[at] - '0'), &n)) {
      return false;
    }
  }
  if (at == 0) {
    return false;
  }
  // The digits of the fraction, over 10^digits = 2^digits * fives.
  uint64_t fraction = 0;
  uint64_t fives = 1;
  int digits = 0;
  if (at + 1 < text.size() && text[at] == '.' && size_text::is_digit(text[at + 1])) {
    for (++at; at < text.size() && size_text::is_digit(text[at]); ++at) {
      constexpr int kMaxDigits = 13;
      if (digits++ == kMaxDigits) {
        return false;
      }
      fraction = fraction * 10 + uint64_t(text[at] - '0');
      fives *= 5;
    }
  }
  text.remove_prefix(at);  // substr() could throw
  const int shift = size_text::shift_of_unit(text);
  if (shift < 0 || (n << shift) >> shift != n || fraction % fives != 0) {
    return false;
  }
  const uint64_t halves = (fraction / fives) << shift;  // less than 2^(digits + shift)
  return halves % (uint64_t{1} << digits) == 0 &&
         !__builtin_add_overflow(n << shift, halves >> digits, bytes);
}

}  // namespace memprof
