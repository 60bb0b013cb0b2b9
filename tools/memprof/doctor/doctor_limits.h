// SPDX-License-Identifier: Apache-2.0
// Limits and space that the data of a profiled process need: checks that `memprof doctor` makes of this shell
// and of a running process alike.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <string>

#include "memprof/doctor/doctor_checks.h"

namespace memprof::cli {

// Address space (and length of the sparse file) of what a process with default limits has of memprof: some
// more than it is today.
inline constexpr uint64_t kArenaBytes = uint64_t{296} << 20;

inline constexpr uint64_t kUnlimited = UINT64_MAX;

// `ulimit -f` and `ulimit -v`.  Whose: under the limit of a shell, memprof itself runs, too.
enum class Whose { kShell, kProcess };
void check_file_size(uint64_t limit_bytes, Checks* checks);
void check_address_space(uint64_t limit_bytes, Whose whose, Checks* checks);

// What the tables of a process take of the memory that its group (a container) may have.
void check_group_memory(uint64_t limit_bytes, Checks* checks);

// The folder where a process puts its data.  `path`: as it says; `seen_as`: as we open it (in a container it
// is another one).  `path` empty: none is wanted.  Not changed, where it is of another process; else a file
// is made there and removed.
enum class Try { kYes, kNo };
void check_arena_folder(const std::string& path, const std::string& seen_as, Try is_tried, Checks* checks);

}  // namespace memprof::cli
