// SPDX-License-Identifier: Apache-2.0
// Finds the libmemprof.so that belongs to this program, in the build tree as in an installed one.
#pragma once

#include <string>

namespace memprof::cli {

// The file to preload: $MEMPROF_LIBRARY, else near the program: ../lib, ../lib64, ../lib/<this system>, its
// own folder.  A command that carries libraries (carried_libraries.h) takes the one near it only if it is the same, else its
// own.  Throws Failure when there is none.
std::string find_library();

// The same for a program in `program_folder` (and without $MEMPROF_LIBRARY); empty: none.
std::string find_library_near(const std::string& program_folder);

// The one that was built for musl, for programs of musl: $MEMPROF_MUSL_LIBRARY (empty: none), else in memprof/musl beside
// `library`.  `path` is empty where there is none, and `to_do` says then what can be done.
struct MuslLibrary {
  std::string path;
  std::string to_do;
};
MuslLibrary find_musl_library(const std::string& library);
// Beside what find_library() finds.
MuslLibrary find_musl_library();
// The one beside it that a running process of musl can load: libmemprof-dlopen.so.
MuslLibrary find_musl_dlopen_library(const std::string& library);

}  // namespace memprof::cli
