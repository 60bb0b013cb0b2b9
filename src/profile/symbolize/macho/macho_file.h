// SPDX-License-Identifier: Apache-2.0
// Object files of macOS (Mach-O, 64 bits, x86-64 and arm64): executables, dylibs, bundles, the files in a .dSYM, and universal
// files, of which the part is taken that has the wanted UUID.  What is known of one is given as an ELF file in memory.
//
// A function has the name of the last symbol before it, unless LC_FUNCTION_STARTS says that another function begins between:
// in a stripped file most have none.
//
// Threads: pure.  Memory: a copy of the file, and of what is given.
#pragma once

#include <memory>
#include <string>

#include "profile/symbolize/elf/elf_file.h"
#include "profile/symbolize/files/file_image.h"

namespace memprof::profile {

// Is it one, to go by its first bytes?
bool is_macho_file(const std::string& path);

// `build_id`: the UUID as lower-case hex, as platform/darwin writes it; of a universal file the part with it is taken, else the
// first one.  nullptr: it cannot be used, and *why says so.
std::unique_ptr<ElfFile> open_macho_file(const std::string& path, const std::string& build_id,
                                         std::string* why);

// The same of bytes that are in memory; nullptr: no such file.
std::unique_ptr<ElfFile> macho_of_image(const std::string& path, const FileImage& image,
                                        const std::string& build_id);

// The debug info that dsymutil made of it, X.dSYM beside X (or beside the bundle that X is in), if it has this UUID; else
// nullptr.
std::unique_ptr<ElfFile> open_dsym(const std::string& path, const std::string& build_id);

}  // namespace memprof::profile
