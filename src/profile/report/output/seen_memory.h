// SPDX-License-Identifier: Apache-2.0
// The lines of a report's header that say what the program mapped itself, and how much of its anonymous memory is
// accounted for.
//
// Threads: no state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profile/report/report.h"

namespace memprof::profile {

// None: mappings were not recorded.
std::vector<std::string> seen_memory_lines(const Report& report);

// Of the anonymous memory that was resident, what is accounted for: from 0 to 1; 1 where there is none.
double seen_share(const ProfileFacts& facts);
constexpr double kSeenEnough = 0.8;  // below it reports warn

// The metric of the program's own mappings where they are a tenth of the process or more; of those in memory, where that was
// measured.
std::optional<Metric> metric_of_much_mapped(const Report& report);
// What was mapped, and is in no row of mappings, because its blocks are counted.  Empty: nothing, or it was not measured.
std::string counted_mappings_text(const Report& report);

// Was something of the program's own mappings found in memory, whatever stacks are selected?
bool has_mapped_in_memory(const Report& report);

// Sentences about calls that no hook is at, of a process that loaded memprof at run time.
std::vector<std::string> unhooked_calls(const Report& report);

// Where another tool in the process wrote over imports (import_taken is not 0): what is missing because of it.
std::string past_memprof(const Report& report);

}  // namespace memprof::profile
