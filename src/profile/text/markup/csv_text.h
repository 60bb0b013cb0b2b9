// SPDX-License-Identifier: Apache-2.0
// Comma-separated values after RFC 4180, with line feeds: what scripts and spreadsheets read.
//
// Threads: no state.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace memprof::profile {

// In quotes where it has a comma, a quote or the end of a line.  What is not UTF-8, and NUL, is U+FFFD: readers refuse it.
std::string csv_field(std::string_view text);

// Fields with commas between them, and the end of the line.
std::string csv_line(const std::vector<std::string>& fields);

}  // namespace memprof::profile
