// SPDX-License-Identifier: Apache-2.0
// The lines over a report's tables with --details: what was profiled, how sure the numbers are, how complete its
// stacks, and the totals.  Without: report_summary.h.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/report/report.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

void write_header(const Report& report, TextWriter* writer);

// The first line of both: which process, when.
std::string subject_line(const Report& report, const TextWriter& writer);

// Of a process that memprof was started in while it ran (seen_after_ns is not 0): the sentence that says so.
std::string seen_since(const Report& report);

}  // namespace memprof::profile
