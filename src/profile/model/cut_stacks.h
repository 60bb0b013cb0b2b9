// SPDX-License-Identifier: Apache-2.0
// Runtimes whose code no unwind table describes, and what makes stacks through it whole.
//
// Model: they are known by the name of a file that the process has mapped.
//
// Threads: no state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memprof::profile {

struct CutRuntime {
  const char* file;   // how the name of its file begins
  const char* name;   // "Java"
  const char* to_do;  // what the user can do, without a dot
};

// nullptr: none of those that are known.  `path`: of a mapped file, or of a program.
const CutRuntime* cut_runtime(std::string_view path);

// Each once, in the order of the paths.
std::vector<const CutRuntime*> cut_runtimes(const std::vector<std::string>& paths);

}  // namespace memprof::profile
