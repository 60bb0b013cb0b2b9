// SPDX-License-Identifier: Apache-2.0
// What an ELF file says of how memprof will do with it: whose malloc it calls, what it needs, and how its
// stacks and names will be.  Files are not trusted: what is broken is as if it were not there.
//
// Threads: no state.
#pragma once

#include <string>
#include <vector>

#include "format/programs/preloadable.h"
#include "profile/symbolize/elf/elf_file.h"

namespace memprof::cli {

struct ElfFacts {
  // Exported: found by the loader, before that of a library where it is a program's.  Hidden: bound when the
  // file was linked, so that nobody can stand in between.
  enum class Malloc { kNone, kHidden, kExported };
  Malloc malloc = Malloc::kNone;
  // Functions of an allocator's own interface that it calls: mallocx, mi_heap_malloc ...
  std::vector<std::string> own_interface;

  std::vector<std::string> needed;     // names of libraries
  std::vector<std::string> run_paths;  // where they are looked for first, as the file has them
  std::vector<unsigned> needs_glibc;   // {2, 34}; empty: nothing of glibc
  bool has_memprof = false;            // libmemprof.a is linked into it
  // That the program is built with: linked into it, or a library that it needs; nullptr: none.
  const Sanitizer* sanitizer = nullptr;
  bool is_go = false;

  bool has_symbols = false;  // .symtab
  bool has_unwind_tables = false;
  double unwind_share = -1;  // of the code in .text, 0 to 1; below 0: cannot be told
};

ElfFacts read_elf_facts(const profile::ElfFile& file);

// ElfFacts::needed alone, without a look at the symbols.
std::vector<std::string> needed_by(const profile::ElfFile& file);

}  // namespace memprof::cli
