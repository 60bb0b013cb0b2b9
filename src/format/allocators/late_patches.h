// SPDX-License-Identifier: Apache-2.0
// What `memprof attach` writes to a process's code so that allocators inside its modules are hooked: the library, which is
// in the process, prepares the hooks and says what is to be written where; the command, which can stop all threads,
// writes it.
//
// Model: patches of one group belong together: all of them are made, or none.  In a group those of code come first; those
// of data, which let the hooks begin, come last: a command that is killed in between leaves jumps that do nothing.
//
// Both sides are of one version: the sizes are checked.
#pragma once

#include <cstdint>

namespace memprof {

struct LatePatch {
  static constexpr uint32_t kMaxWindowBytes = 24;
  static constexpr uint32_t kMaxWrittenBytes = 8;

  uint64_t address;
  uint32_t group;
  uint16_t window_bytes;               // of code: no thread may be between its first and last byte.  0: data
  uint16_t written_bytes;              // from `address` on; at most window_bytes of code
  uint8_t old_bytes[kMaxWindowBytes];  // all of the window; of data, written_bytes
  uint8_t new_bytes[kMaxWrittenBytes];
};
static_assert(sizeof(LatePatch) == 48);

// What the command asks the library in the process.
struct LatePatchRequest {
  static constexpr uint32_t kMaxModules = 64;
  static constexpr uint32_t kSaidBytes = 1024;

  uint32_t request_bytes = sizeof(LatePatchRequest);
  uint32_t patch_bytes = sizeof(LatePatch);
  uint32_t module_count = 0;
  uint32_t patch_count = 0;            // answer
  uint64_t patches = 0;                // answer: their address; they stay there
  uint64_t modules[kMaxModules] = {};  // an address in each module whose allocators are wanted
  char hooked[kSaidBytes] = {};        // answer: a line for each allocator that is prepared
  char refused[kSaidBytes] = {};       // answer: a line for each that is not, and why
};

}  // namespace memprof
