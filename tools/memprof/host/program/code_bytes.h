// SPDX-License-Identifier: Apache-2.0
// How many bytes of a section are code, and not what a linker fills the room between functions with.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string_view>

namespace memprof::cli {

uint64_t code_bytes(std::string_view text);

}  // namespace memprof::cli
