// SPDX-License-Identifier: Apache-2.0
// Object files of macOS (Mach-O, 64 bits, x86-64 and arm64): executables, dylibs, bundles, the files in a .dSYM, and universal
// files, of which the part is taken that has the wanted UUID.  What is known of one is given as an ELF file in memory.
// Debug info is what dsymutil made of the file: X.dSYM beside X, or beside the bundle that X is in, if it has the same UUID.
//
// A function has the name of the last symbol before it, unless LC_FUNCTION_STARTS says that another function begins between:
// in a stripped file most have none.
//
// Threads: pure.  Memory: a copy of the file, and of what is given.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "profile/symbolize/elf/elf_file.h"
#include "profile/symbolize/object/object_file.h"

namespace memprof::profile {

// `build_id`: the UUID as lower-case hex, as platform/darwin writes it; of a universal file the part with it is taken, else the
// first one.  nullptr: no such file.
std::unique_ptr<ElfFile> read_macho(const OpenedFile& file, const std::string& build_id);

// nullptr: there is none.
std::unique_ptr<ElfFile> open_dsym(const std::string& path, const std::string& build_id);

bool is_macho(std::string_view bytes);
std::unique_ptr<ObjectFile> open_macho(OpenedFile file, const std::string& build_id, std::string* why);
inline constexpr ObjectFormat kMachOFormat{is_macho, open_macho};

}  // namespace memprof::profile
