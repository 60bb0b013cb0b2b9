// SPDX-License-Identifier: Apache-2.0
// The debug info that gcc and clang write into files of Windows for mingw: DWARF, in the file itself or in the one that its
// .gnu_debuglink names.  It is given to the readers of ELF files, as an ELF file in memory.
//
// Threads: no state.
// Memory: a copy of the debug info.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profile/symbolize/object/object_file.h"
#include "profile/symbolize/pe/pe_file.h"

namespace memprof::profile {

// One entry an address, which counts from the start of the image; empty ones where there is no debug info.
std::vector<CodeNames> dwarf_names_of(const PeFile& file, const std::vector<uint64_t>& addresses,
                                      const NameSources& sources, std::vector<std::string>* warnings);

}  // namespace memprof::profile
