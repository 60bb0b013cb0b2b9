// SPDX-License-Identifier: Apache-2.0
// Output paths with facts of the process in them: %p process id, %n name of the program, %t seconds since 1970,
// %% a percent sign.  Any other character after a percent sign is an error.
//
// Signals, fork: pure.
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof {

// Where a percent sign stands with another character behind it; nullptr: nowhere.
const char* find_wrong_fact(const char* pattern);

// Has the pattern this fact, like 'p'?
bool has_fact(const char* pattern, char letter);

// Writes the NUL-terminated path.  false: it does not fit, or the pattern is wrong.  The name becomes one part
// of a path, whatever the program calls itself: '/' and control characters become '_', and so do "." and "..".
bool expand_path(const char* pattern, uint64_t process_id, const char* program_name, uint64_t time_s,
                 char* path, size_t path_bytes);

// Decimal digits and a NUL into at least 21 bytes; returns how many digits.
size_t format_decimal(uint64_t value, char* digits);

}  // namespace memprof
