// SPDX-License-Identifier: Apache-2.0
// The options by which a reader says what to see of a profile, the same in all commands that show one.
//
// Failure: throws Failure.
#pragma once

#include <string>

#include "profile/names/frame_grouping.h"
#include "profile/names/pattern.h"

namespace memprof::cli {

// "--by" with one of function, line, file, module, heap, process.
profile::GroupBy parse_group_by(const std::string& text);
// "--focus", "--ignore".
profile::Pattern parse_pattern(const std::string& option, const std::string& text);

}  // namespace memprof::cli
