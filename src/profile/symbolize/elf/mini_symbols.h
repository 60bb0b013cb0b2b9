// SPDX-License-Identifier: Apache-2.0
// The symbols that Fedora and others leave in a stripped file: .gnu_debugdata, an ELF file packed with xz
// that has nothing but .symtab.
//
// Threads: no state.
// Memory: what the section unpacks to, at most 1 GiB; xz itself at most 128 MiB.
#pragma once

#include <memory>

#include "profile/symbolize/elf/elf_file.h"

namespace memprof::profile {

// nullptr: there are none, or they cannot be unpacked.
std::unique_ptr<ElfFile> open_mini_symbols(const ElfFile& module);

}  // namespace memprof::profile
