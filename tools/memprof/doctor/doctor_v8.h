// SPDX-License-Identifier: Apache-2.0
// What memprof sees of the V8 in a program (Node, Electron), and of an engine that runs Node's addons and is another one (bun).
//
// Threads: no state.
#pragma once

#include <string>

#include "memprof/doctor/doctor_checks.h"
#include "memprof/doctor/doctor_program.h"
#include "profile/symbolize/elf/elf_file.h"

namespace memprof::cli {

// What an ELF file says of the engine in it, by the names that the library looks for (runtime/v8/engine.cc).  Files are not
// trusted.
struct V8Facts {
  bool is_there = false;
  bool runs_addons = false;  // Node-API is there
  std::string version;       // "11.3.244"; "": it does not tell
  std::string missing;  // the first function that the library needs and the file does not export; "": none
  bool can_have_lines = false;  // versions whose tables memprof knows

  bool has_functions() const { return is_there && missing.empty(); }
};
V8Facts read_v8_facts(const profile::ElfFile& file);

// One line where there is such an engine.
void check_v8(const ProgramFiles& files, Checks* checks);

}  // namespace memprof::cli
