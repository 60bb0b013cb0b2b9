// SPDX-License-Identifier: Apache-2.0
// Texts, numbers and whole values as JSON has them.  The reader and the writer are templates of a library, which are compiled
// here, once: each source that used them itself took one to four seconds longer.
//
// Threads: no state.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace memprof::profile {

// A text as a JSON string, quotes included.  What is not UTF-8 (names can be any bytes) becomes U+FFFD.
std::string json_text(const std::string& value);

// A value as JSON, in one line, or with `indent` spaces a level.  What is not UTF-8 becomes U+FFFD.
std::string json_to_text(const nlohmann::json& value, int indent = -1);
std::string json_to_text(const nlohmann::ordered_json& value, int indent = -1);

// Throws nlohmann::json::exception where `json` is not JSON.
nlohmann::json json_from_text(std::string_view json);

// Null where `json` is not JSON.
nlohmann::json json_or_null(std::string_view json);

// An estimate as a whole number.  Rounded here, and nowhere before.
inline int64_t json_rounded(double amount) {
  constexpr double kLargest = 9.2e18;
  return std::llround(std::clamp(amount, -kLargest, kLargest));
}

}  // namespace memprof::profile
