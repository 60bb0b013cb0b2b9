// SPDX-License-Identifier: Apache-2.0
// The name and source of code that a process generated at run time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace memprof::profile {

// Longer names are cut.
constexpr size_t kMaxJitNameBytes = 4096;

struct JitFrame {
  std::string name;  // empty: unknown
  std::string file;  // source; empty: unknown
  int64_t line = 0;  // of the address; 0: unknown
};

}  // namespace memprof::profile
