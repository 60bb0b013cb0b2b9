// SPDX-License-Identifier: Apache-2.0
// What is seen of a language runtime in the process, as it stands in arenas, comments and memprof_stats.
#pragma once

#include <cstdint>

namespace memprof {

// How its objects are seen: MEMPROF_OBJECTS_* of memprof.h.
enum class RuntimeObjects : uint32_t {
  kNone = 0,      // it is not there, or nothing was started
  kHooked = 1,    // by hooks in front of its allocators
  kByMalloc = 2,  // all of them are malloc's, and seen there
  kRefused = 3,   // not at all: its allocators could not be replaced
};

// How its frames are seen: MEMPROF_STACKS_* of memprof.h.
enum class RuntimeStacks : uint32_t {
  kNone = 0,            // no thread that runs its code was sampled
  kUnchecked = 1,       // no stack has shown yet that they are read rightly
  kRead = 2,            // stacks have its functions
  kUnknownVersion = 3,  // native frames only
  kUnknownLayout = 4,   // native frames only: it is not what its version says
};

}  // namespace memprof
