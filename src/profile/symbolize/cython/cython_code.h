// SPDX-License-Identifier: Apache-2.0
// Functions that Cython made C of: what they are called in the .pyx file, and its lines.
//
// Model: a symbol has the name in it, with the length before each part of the path:
//     __pyx_pw_5cymod_3Acc_2add     cymod.Acc.add (the 2 is a number of Cython's)
// Debug info leads to lines of the C file. That has comments, `/* "cymod.pyx":12`, each before the code of that line.
//
// Threads: no state but of CythonSources, which is one thread's.
// Failure: what cannot be read keeps the C file and its lines.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace memprof::profile {

// The qualified name of a Cython function by its symbol; empty: it is none (profile/names/interpreter_frames.h).
std::string cython_name(std::string_view symbol);

class CythonSources {
 public:
  // Replaces a line of a C file by the line that it was made of.  false: it is not known; nothing is changed.
  // Reads files only that may be shown (profile/files/source_file.h), of 16 MiB at most, each once.
  bool to_source(std::string* file, int64_t* line);

 private:
  struct Mark {
    int64_t c_line;
    int64_t line;
    std::string file;
  };
  std::map<std::string, std::vector<Mark>> marks_;  // by C file, ascending
};

}  // namespace memprof::profile
