// SPDX-License-Identifier: Apache-2.0
// What stands over a report by default, at most four sentences: what was profiled, how much memory, how it was sampled,
// and what is missing from the report.  `--details` prints write_header (report_header.h) instead.
//
// Threads: no state.
#pragma once

#include "profile/report/report.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

void write_summary(const Report& report, TextWriter* writer);

}  // namespace memprof::profile
