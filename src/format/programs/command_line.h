// SPDX-License-Identifier: Apache-2.0
// What a process was executed with, as its arena and a profile of it that was not named yet have it.
#pragma once

#include <cstddef>

namespace memprof {

// Between the system's name of the process and its arguments; no text that people write has it.
inline constexpr char kCommandLineEnd = '\x1f';
// Of the whole text; what is longer is cut.
inline constexpr size_t kMaxCommandLineBytes = 1024;

}  // namespace memprof
