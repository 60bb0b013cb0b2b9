// SPDX-License-Identifier: Apache-2.0
// The runtimes that this build knows: a line for each, with the namespace of its folder, in the order in which
// they are asked.  Nothing else may be in this file: tests/runtime/toy has a table of its own, which the linker
// takes in place of this one.
#include "runtime/registry.h"

// clang-format off
#define MEMPROF_RUNTIMES(RUNTIME) \
  RUNTIME(cpython) \
  RUNTIME(v8) \
  RUNTIME(jit)
// clang-format on

#define MEMPROF_DECLARE(name)              \
  namespace memprof::name {                \
  extern const runtimes::Runtime kRuntime; \
  }
MEMPROF_RUNTIMES(MEMPROF_DECLARE)

namespace memprof::runtimes {

#define MEMPROF_ENTRY(name) &name::kRuntime,
const Runtime* const kRegistry[] = {MEMPROF_RUNTIMES(MEMPROF_ENTRY)};
const uint32_t kRegistrySize = sizeof(kRegistry) / sizeof(kRegistry[0]);

}  // namespace memprof::runtimes
