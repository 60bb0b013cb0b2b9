// SPDX-License-Identifier: Apache-2.0
// The modules that are loaded, in a list of our own: it is read in hooks, where the loader's lock must not be waited for.
//
// Model: the loader tells of each DLL before its code runs, and when it is unloaded.  What is known of a module stays where it
// is; a sorted list of those that are loaded is written anew at each change, with a number that is odd meanwhile.
// Threads: any number of readers, without waiting for more than a writer's copy; writers hold the loader's lock.
// Allocates: pages, when a list is full.
#pragma once

#include <cstdint>

#include "platform/modules.h"
#include "platform/windows/modules/pe_image.h"

namespace memprof::platform {

struct KnownModule {
  PeImage image;
  const char* path;
  uint32_t build_id_size;
  uint8_t build_id[kMaxBuildIdBytes];
};

// Under the loader's lock, once: lists what is loaded now, and follows the loader.
void follow_loader();

// nullptr: none of those that are loaded.
const KnownModule* module_at(uint64_t address);
// The same outside of hooks: where a thread that changes the list waits for a processor, this one waits for it.
const KnownModule* wait_for_module_at(uint64_t address);

// ntdll's function in which every thread begins; 0: not known.
uint64_t thread_start_function();

}  // namespace memprof::platform
