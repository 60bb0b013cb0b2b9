// SPDX-License-Identifier: Apache-2.0
// How much of a program's code its unwind tables (.eh_frame) describe: nearly all in what distributions
// build, only the start code of libc in a C program built with -fno-asynchronous-unwind-tables.
//
// Threads: no state.
#pragma once

#include "profile/symbolize/elf/elf_file.h"

namespace memprof::cli {

// Bytes of .text with rules over all bytes of .text (but start code, which never has any), 0 to 1; below 0:
// it cannot be told (no .text, addresses written in a way that compilers do not use here, a broken table).
double unwind_share(const profile::ElfFile& file);

}  // namespace memprof::cli
