// SPDX-License-Identifier: Apache-2.0
// Where the file with the debug info of another one is.  The section .gnu_debuglink, which ELF and PE files have: its name,
// and its checksum.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace memprof::profile {

struct DebugLink {
  std::string name;  // without a folder
  uint32_t crc = 0;
};

// Of the section's bytes; nothing: there is no link in them.
std::optional<DebugLink> parse_debug_link(std::string_view section, bool is_big_endian = false);

// Where the file may be: beside the one that names it, in .debug there, below the folder of debug files.  None where `path`
// has no folder; `path` is not among them.
std::vector<std::string> debug_link_candidates(const std::string& path, const DebugLink& link,
                                               const std::string& debug_root);

// Where the debug file of a build is, by its id of more than two digits.
std::string debug_path_of_build(const std::string& debug_root, const std::string& build_id);

// CRC-32, as a link has it.
uint32_t debug_link_checksum(std::string_view bytes);

}  // namespace memprof::profile
