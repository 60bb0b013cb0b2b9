// SPDX-License-Identifier: Apache-2.0
// The allocators that a program or a library has inside it, by the names of its functions (format/allocators/allocator_functions.h):
// what memprof hooks where it is preloaded.
//
// Threads: no state.
#pragma once

#include <string>
#include <vector>

#include "profile/symbolize/elf/elf_file.h"

namespace memprof::cli {

struct InnerAllocatorFacts {
  std::string name;        // "jemalloc", "jemalloc (_rjem_)"
  unsigned functions = 0;  // that give memory or take it back, each name for itself
  // Some of them give memory, and some take it back; the file is of a processor that hooks are written for.
  bool can_be_hooked = false;
};

// `is_program`: its own malloc and operators come before those of libraries.  Where the file has no symbol table but the
// loader's, its debug file is read, too, as the library does it: by its build id, below `root`, which is what the
// process takes for "/".
std::vector<InnerAllocatorFacts> inner_allocators(const profile::ElfFile& file, bool is_program,
                                                  const std::string& root = {});

// "jemalloc (34 functions), mimalloc (46)": those that can be hooked; empty: none.
std::string describe_hooked(const std::vector<InnerAllocatorFacts>& allocators);

}  // namespace memprof::cli
