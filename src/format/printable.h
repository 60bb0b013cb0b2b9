// SPDX-License-Identifier: Apache-2.0
// What of a text may go to a terminal: names of files and values of variables are anybody's.
//
// Threads: plain functions.  Signals: for handlers, too.
#pragma once

#include <cstddef>

namespace memprof {

// Bytes at the beginning of `text` that are whole characters of UTF-8, and none that controls a terminal or
// the direction of writing.
size_t printable_length(const char* text);

}  // namespace memprof
