// SPDX-License-Identifier: Apache-2.0
// The libraries that the loader will load with a program: what it needs, and what they need.
//
// Threads: no state.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

struct NeededLibrary {
  std::string name;  // as the file that needs it has it
  std::string path;  // empty: not found where the loader looks
};

// In the order of the loader (breadth first).  Looks into run paths, LD_LIBRARY_PATH, /etc/ld.so.conf.d and
// the usual folders; the loader's cache may know more.
std::vector<NeededLibrary> needed_libraries(const std::string& program);

}  // namespace memprof::cli
