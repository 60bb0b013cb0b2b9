// SPDX-License-Identifier: Apache-2.0
// Whose malloc a program calls, and so what of it memprof sees.
//
// Model: the loader finds a name in the executable first, then in preloaded libraries, then in the others.
// An allocator that is a library stands behind memprof, and all of it is seen; one that is in the executable
// stands before memprof (exported) or is called directly (hidden).
//
// Threads: no state.
#pragma once

#include <string>

#include "memprof/doctor/doctor_checks.h"
#include "memprof/doctor/doctor_program.h"
#include "memprof/host/program/elf_facts.h"

namespace memprof::cli {

// Why nothing of it would be seen, and what to do; `found` empty: something is.
struct AllocatorObstacle {
  std::string found;
  std::string to_do;
};
// `hooked`: of the allocators in the program, those whose functions are hooked (inner_allocators.h); empty: none.
AllocatorObstacle allocator_obstacle(const ProgramFiles& files, const ElfFacts& facts,
                                     const std::string& hooked);

// Which of the allocators in a program are taken for hooked: none, where it is known that nothing was recorded.
enum class HookedAllocators { kNone, kAllThatCanBe };
// The same of an executable that has no arena though memprof was in it: one line; "": nothing that its file shows.
std::string allocator_obstacle_of(const std::string& program, HookedAllocators hooked);

void check_allocator(const ProgramFiles& files, const ElfFacts& facts, const std::string& hooked,
                     Checks* checks);

// `shown`: the program, or the library that has its code.
void check_own_interface(const std::string& shown, const ElfFacts& facts, Checks* checks);

}  // namespace memprof::cli
