// SPDX-License-Identifier: Apache-2.0
// Shares as people write them: the same in variables of the environment and in options of the command.
//
// Signals, fork: pure.
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace memprof {

// `0.5%`, `2 %`, `0.0001%`: in parts in a million, up to 100 %.  false: it is not that, or finer.
inline bool parse_share(std::string_view text, uint32_t* ppm) {
  constexpr uint32_t kPpmOfPercent = 10000;
  uint32_t n = 0;
  uint32_t unit = kPpmOfPercent;  // of the digit that was read last
  bool is_fraction = false;
  size_t at = 0;
  size_t digits = 0;
  for (; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '.' && !is_fraction && digits != 0) {
      is_fraction = true;
      digits = 0;
    } else if (c >= '0' && c <= '9') {
      const auto digit = static_cast<uint32_t>(c - '0');
      if (is_fraction) {
        unit /= 10;
        n += digit * unit;
      } else {
        n = n * 10 + digit * kPpmOfPercent;
      }
      if (n > 100 * kPpmOfPercent || (is_fraction && unit == 0)) {
        return false;
      }
      ++digits;
    } else {
      break;
    }
  }
  const std::string_view sign(text.data() + at, text.size() - at);
  if (digits == 0 || (sign != "%" && sign != " %")) {
    return false;
  }
  *ppm = n;
  return true;
}

}  // namespace memprof
