// SPDX-License-Identifier: Apache-2.0
// Finds the separate debug file of a module, which has the symbols that were stripped from it: by build id in
// DEBUG_ROOT/.build-id, else by its .gnu_debuglink.
//
// Threads: no state.
#pragma once

#include <memory>
#include <string>

#include "profile/symbolize/elf/elf_file.h"

namespace memprof::profile {

inline constexpr const char kDebugRoot[] = "/usr/lib/debug";

// nullptr: there is none that belongs to exactly this file (same build id, or the checksum of the link).
std::unique_ptr<ElfFile> open_debug_file(const ElfFile& module, const std::string& debug_root);

// The file that dwz moved to what `debug` has in common with others; nullptr: it is not there.
std::unique_ptr<ElfFile> open_alternate_file(const ElfFile& debug, const ElfFile::AlternateLink& link,
                                             const std::string& debug_root);

}  // namespace memprof::profile
