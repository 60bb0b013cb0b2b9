// SPDX-License-Identifier: Apache-2.0
// Source text for a page: the lines of files that a profile names, where these files are on this machine.
//
// Model: of a file {"is_newer": whether it was changed after the profile, "lines": {"12": text, ...}}; null where there is
// no such file, the rule does not allow it (profile/files/source_file.h), it is larger than kMaxSourceBytes, or no text.
// Long lines are cut.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>

#include "profile/files/source_file.h"
#include "profile/model/model.h"

namespace memprof::profile {

inline constexpr size_t kMaxSourceBytes = size_t{4} << 20;

// All lines of a file.  `time_unix_ns`: of the profile; 0: not known, and no file is newer.
nlohmann::ordered_json read_source(const std::string& path, const SourceRule& rule, uint64_t time_unix_ns);

// By path, the lines that the profile names and those next to them, of as many files as make `max_bytes` of text.
nlohmann::ordered_json read_sources(const Profile& profile, const SourceRule& rule,
                                    size_t max_bytes = size_t{1} << 20);

}  // namespace memprof::profile
