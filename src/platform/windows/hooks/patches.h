// SPDX-License-Identifier: Apache-2.0
// Hooks by a jump at the beginning of a function.
//
// Model: the instructions that the jump takes the place of are moved to a page near the function (platform/code/relocation.h),
// from where they go on behind it; the jump leads there, too, to a jump to the hook:
//     function  jmp entry ... rest          page  entry: jmp [hook]    original: moved instructions, jmp rest
// While the jump is written, or taken out, all other threads are suspended, and none of them is between the instructions
// that it takes the place of.  The page stays for ever: a thread may still be in it.
//
// Threads: one at a time, which holds the loader's lock or is alone.
// Allocates: pages.
// Failure: nothing is patched, and a reason.
#pragma once

#include <cstdint>

namespace memprof::platform {

struct Patch {
  const char* name;  // of a function that the module exports
  const void* hook;
  uint64_t* original;  // where calls go on to
  uint64_t function = 0;
  uint8_t window_bytes = 0;
  uint8_t before[8] = {};
  uint8_t after[8] = {};
  bool is_optional = false;       // where it cannot be hooked, the others are
  const char* refusal = nullptr;  // why it is not, though its module exports it
};

// All of them or none, but for those that are optional, in the module of this name, which is loaded.  nullptr: they are; else
// why not, and *culprit is the name of the function that it is about.
const char* install_patches(const wchar_t* module_name, Patch* patches, uint32_t count, const char** culprit);

// Where the jumps still are what was written: others may have put their own there since.  false: some stay.
bool remove_patches(Patch* patches, uint32_t count);

}  // namespace memprof::platform
