// SPDX-License-Identifier: Apache-2.0
// Is a module the standard library of C++?
//
// Threads, signals: any; the caller keeps the module from being unloaded.
// Allocates: never.
#pragma once

#include <link.h>
#include <string.h>

#include "platform/linux/modules/dynamic_section.h"

namespace memprof::platform {

// By the name that others need it by: GCC's, LLVM's, and LLVM's that has the operators (libc++abi).
inline bool is_standard_library(const char* soname) {
  return soname != nullptr && (strncmp(soname, "libstdc++.", 10) == 0 || strncmp(soname, "libc++", 6) == 0);
}

inline bool is_standard_library(const dl_phdr_info& module) {
  return is_standard_library(DynamicSection(module).soname());
}

}  // namespace memprof::platform
