// SPDX-License-Identifier: Apache-2.0
// Output paths with facts of the process in them: %p process id, %n name of the program, %t seconds since
// 1970,
// %% a percent sign.  Any other character after a percent sign is an error.
//
// Signals, fork: pure.
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof {

// Writes the NUL-terminated path.  false: it does not fit, or the pattern is wrong.  A '/' in the name
// becomes '_'.
bool expand_path(const char* pattern, uint64_t process_id, const char* program_name, uint64_t time_s,
                 char* path, size_t path_bytes);

// Decimal digits and a NUL into at least 21 bytes; returns how many digits.
size_t format_decimal(uint64_t value, char* digits);

}  // namespace memprof
