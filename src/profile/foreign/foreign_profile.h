// SPDX-License-Identifier: Apache-2.0
// Heap profiles that are no pprof files, by what they begin with: the text of tcmalloc and jemalloc, the JSON of V8.
//
// Threads: no state.
// Failure: throws Error "NAME: what is wrong".
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "profile/model/model.h"

namespace memprof::profile {

// Nothing: the bytes are of no such profile.
std::optional<Profile> read_foreign(std::string_view data, const std::string& name);

// Nothing: it is another file, or cannot be read.
std::optional<Profile> read_foreign_file(const std::string& path);

}  // namespace memprof::profile
