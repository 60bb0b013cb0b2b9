// SPDX-License-Identifier: Apache-2.0
// Who holds the anonymous memory of a process, as far as that can be told: the parts add up to all of it that is
// resident.
#pragma once

#include <cstdint>

namespace memprof {

enum class MemoryPart : uint32_t {
  kMapped,     // mappings that the program made itself, which are recorded with their stacks
  kAllocator,  // those of an allocator whose blocks are seen
  kMalloc,     // the C library's heap: the break, arenas, and large blocks
  kStacks,     // of threads
  kModules,    // data of executables and libraries, which was written to
  kOwn,        // memprof's own
  kUnseen,     // nobody knows: direct system calls, or mapped before memprof began
  kCount
};

}  // namespace memprof
