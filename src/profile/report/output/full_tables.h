// SPDX-License-Identifier: Apache-2.0
// What tables of the profiler that were full mean for a report.
//
// Threads: no state.
#pragma once

#include <string>
#include <vector>

#include "profile/report/report.h"

namespace memprof::profile {

// Sentences; none where no table was full.
std::vector<std::string> full_tables(const Report& report);

}  // namespace memprof::profile
