// SPDX-License-Identifier: Apache-2.0
// Bytes as text, as RFC 4648 has it.
//
// Threads: no state.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace memprof::profile {

std::string base64(std::string_view bytes);

// Nothing: it is not what base64() makes.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace memprof::profile
