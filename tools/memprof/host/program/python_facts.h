// SPDX-License-Identifier: Apache-2.0
// What an ELF file says of the CPython in it, which the library finds by the same names
// (runtime/cpython/interpreter.h, layout.h).  Files are not trusted.
//
// Threads: no state.
#pragma once

#include <cstdint>

#include "profile/symbolize/elf/elf_file.h"

namespace memprof::cli {

struct PythonFacts {
  bool is_there = false;          // the interpreter itself: the program, or a libpython
  uint32_t version = 0;           // 0x030b02f0 is 3.11.2; 0: before 3.11
  bool is_free_threaded = false;  // told from 3.13 on
  bool has_own_layout = false;    // from 3.13 on: it says itself where its structures have what

  // Whether memprof knows where its frames are.
  bool has_readable_frames() const {
    constexpr uint32_t kFirst = 0x030b, kFirstWithOwnLayout = 0x030d, kLast = 0x030f;
    const uint32_t minor = version >> 16;
    return minor >= kFirst && minor <= kLast && (minor < kFirstWithOwnLayout || has_own_layout);
  }
};

PythonFacts read_python_facts(const profile::ElfFile& file);

}  // namespace memprof::cli
