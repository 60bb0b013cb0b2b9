// SPDX-License-Identifier: Apache-2.0
// Finds the separate debug file of a module, which has the symbols that were stripped from it: by build id in
// DEBUG_ROOT/.build-id, else by its .gnu_debuglink; or by build id from a server.
//
// Threads: no state.
#pragma once

#include <memory>
#include <string>

#include "profile/symbolize/elf/elf_file.h"
#include "profile/symbolize/object/object_file.h"

namespace memprof::profile {

// nullptr: there is none that belongs to exactly this file (same build id, or the checksum of the link).
std::unique_ptr<ElfFile> open_debug_file(const ElfFile& module, const std::string& debug_root);

// The file that dwz moved to what `debug` has in common with others; nullptr: it is not there.
std::unique_ptr<ElfFile> open_alternate_file(const ElfFile& debug, const ElfFile::AlternateLink& link,
                                             const std::string& debug_root);

// Who asks it is told in `sources`; nullptr: nobody is to be asked, or has a file with this build id.
std::unique_ptr<ElfFile> open_from_server(const std::string& build_id, const NameSources& sources);

}  // namespace memprof::profile
