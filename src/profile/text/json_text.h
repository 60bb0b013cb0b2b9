// SPDX-License-Identifier: Apache-2.0
// A text as a JSON string, quotes included.  What is not UTF-8 (names can be any bytes) becomes U+FFFD.
//
// Threads: no state.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace memprof::profile {

inline std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace memprof::profile
