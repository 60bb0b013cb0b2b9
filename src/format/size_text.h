// SPDX-License-Identifier: Apache-2.0
// Sizes as people write them: the same in variables of the environment and in options of the command.
//
// Signals, fork: pure.
// Allocates: never.
#pragma once

#include <cstdint>
#include <string_view>

namespace memprof {

// `0`, `4096`, `64k`, `64K`, `64KB`, `64 KiB`, `0.5M`, `1G`: powers of 1024, up to P, whatever the case.  false:
// it is not that, no whole number of bytes, or too large for 64 bits.
bool parse_size(std::string_view text, uint64_t* bytes);

}  // namespace memprof
