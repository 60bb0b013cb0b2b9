// SPDX-License-Identifier: Apache-2.0
// The formats of object files that names are read of, told apart by their first bytes.
//
// Threads: no state.
#pragma once

#include <memory>
#include <string>

#include "profile/symbolize/object/object_file.h"

namespace memprof::profile {

// Of a file with several parts (a universal one of macOS) that with `build_id`, else the first.  nullptr: it cannot be
// used, and *why says so.  Never blocks, whatever the path is (pipe, device).
std::unique_ptr<ObjectFile> open_object_file(const std::string& path, const std::string& build_id,
                                             std::string* why);

}  // namespace memprof::profile
