// SPDX-License-Identifier: Apache-2.0
// Texts and numbers as JSON has them.
//
// Threads: no state.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

namespace memprof::profile {

// A text as a JSON string, quotes included.  What is not UTF-8 (names can be any bytes) becomes U+FFFD.
inline std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

// An estimate as a whole number.  Rounded here, and nowhere before.
inline int64_t json_rounded(double value) {
  constexpr double kMax = 9.2e18;
  return std::llround(std::clamp(value, -kMax, kMax));
}

}  // namespace memprof::profile
