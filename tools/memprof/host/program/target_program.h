// SPDX-License-Identifier: Apache-2.0
// What is known about a CMD before it is started: where it is, whether it can be executed, and whether a
// library can be preloaded into it.
#pragma once

#include <string>

namespace memprof::cli {

struct TargetProgram {
  std::string path;   // the file that will be executed
  std::string elf;    // the program in the end: that file, or the interpreter of a script; empty: not known
  int status = 0;     // 0, kNotFound or kCannotExecute
  std::string error;  // one line, where status is not 0
  std::string
      obstacle;  // why nothing can be recorded ("CMD is statically linked ..."); empty: nothing is known
  // false: the program would not start, or complain, with the library.  Without an obstacle it is built with a
  // sanitizer, which doctor_allocator.h names.
  bool can_preload = true;
  std::string library;  // what is preloaded: that for the program's own C library; empty: find_library()'s
};

// `command` as in execvp(3): searched for in PATH unless it has a slash.
TargetProgram inspect_target(const std::string& command);

// Of a sanitizer, the library in our LD_PRELOAD, which programs that we start get, too; empty: there is none.
std::string preloaded_sanitizer();

// An obstacle is told in one line by who runs the program, and by its parts by who is asked what to do.
struct Obstacle {
  std::string found;
  std::string to_do;
};
Obstacle split_obstacle(const std::string& obstacle);

// What an obstacle says of the program at `path`, without the path: "is statically linked ...".
std::string without_path(const std::string& obstacle, const std::string& path);

// The loader that an ELF file of this machine's class names (PT_INTERP); empty: none, or no such file.
std::string elf_interpreter(const std::string& path);
bool is_musl_loader(const std::string& path);

}  // namespace memprof::cli
