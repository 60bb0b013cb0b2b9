// SPDX-License-Identifier: Apache-2.0
// A loaded ELF module as the loader knows it: program headers, load address, unwind tables.
//
// Model: _dl_find_object (glibc 2.35 and later: lock-free, 5 to 11 ns) finds the module; the program headers
// are the kernel's (main program) or follow the ELF header at the load address.  Where the C library has no
// such function, module_map.h knows.
//
// Threads, signals: any; the module is one that the caller runs in, so it cannot be unloaded meanwhile.
// Allocates: never.
#pragma once

#include <link.h>

#include <cstdint>

#include "unwind/tables/eh_frame.h"

namespace memprof::platform {

// Program headers that a module may have; one with more is as if it had none.
inline constexpr uint64_t kMaxHeaders = 128;

struct ElfImage {
  uint64_t map_start;  // what the loader says; one segment, where the module has holes
  uint64_t map_end;
  uint64_t bias;               // load address minus address in the file
  const char* path;            // valid while the module stays loaded
  uint64_t eh_frame;           // address of .eh_frame_hdr; 0: none
  const ElfW(Phdr) * headers;  // nullptr: not to be found
  uint64_t header_count;
};

// Looks for what the C library has to ask; once, where dlsym may be called.  Until then module_map.h is
// asked.
void find_loader_functions();

bool find_elf(uint64_t address, ElfImage* image);

// Before a sandbox, in which no module is found that was not known: asks for all that are loaded.  Takes no lock; may be called
// in a fork child.  errno: not kept.
void know_modules();

// The segment that contains an address; nullptr: none.
const ElfW(Phdr) * find_segment(const ElfImage& image, uint64_t address);

// For the unwinder.
bool find_unwind_image(uint64_t address, unwind::Image* image);

}  // namespace memprof::platform
