// SPDX-License-Identifier: Apache-2.0
// What an ELF file says of its build, read by little parts: the file may be large, and may change meanwhile.
//
// Files are not trusted: what lies outside of the file, or is not what it says, is as if it were not there.
// Threads: no state.
#pragma once

#include <optional>
#include <string>

#include "profile/symbolize/files/debug_link.h"

namespace memprof::cli {

struct BuildNote {
  std::string build_id;    // lower-case hex; empty: it has none, or is no ELF file of little endian
  bool has_names = false;  // debug info or a symbol table, which a stripped file has not
  std::optional<profile::DebugLink> link;
};

// Takes 2 MiB of memory at most.  The descriptor's position stays as it is.
BuildNote read_build_note(int fd);

}  // namespace memprof::cli
