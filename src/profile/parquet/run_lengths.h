// SPDX-License-Identifier: Apache-2.0
// Parquet's hybrid of runs and bit-packed groups: small numbers, such as levels and indices into a dictionary.
//
// Format: https://github.com/apache/parquet-format/blob/master/Encodings.md, RLE (3)
// Threads: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace memprof::profile {

// Bits that the largest number takes; at least one.
unsigned bit_width(uint32_t largest);

// `values`: of at most `width` bits each.  Without a length before it.
std::string run_lengths(const uint32_t* values, size_t count, unsigned width);

}  // namespace memprof::profile
