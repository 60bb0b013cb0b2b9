// SPDX-License-Identifier: Apache-2.0
// Finds out before a program runs, maybe for hours, whether its profile can be written.
//
// Failure: throws Failure "PATH: why, and what to do".
#pragma once

#include <string>

namespace memprof::cli {

// The folder must exist and take a file, and `path` must not exist unless `may_replace`.  Leaves nothing
// behind.
void check_output_path(const std::string& path, bool may_replace);

}  // namespace memprof::cli
