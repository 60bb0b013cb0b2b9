// SPDX-License-Identifier: Apache-2.0
// Prints a report for people: a header (program, rate, completeness), tables or trees, and a footer that says
// what they do not show.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/report/report.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

// What stands over the tables: at most four lines, or all that is known.
enum class HeaderKind : unsigned char { kSummary, kDetails };

// `mapped`: the largest of the program's own mappings, to stand below the table of blocks.
// `input`: the profile as a word of a shell, for what to ask instead where there is nothing to list.
std::string report_text(const Report& report, const TextOptions& options = {},
                        const std::string& input = "FILE", HeaderKind header = HeaderKind::kDetails,
                        const Report* mapped = nullptr);

}  // namespace memprof::profile
