// SPDX-License-Identifier: Apache-2.0
// A profile that a Pyroscope has: all series that a query chooses, over a range of time, as one profile with
// all metrics that memprof knows.
//
// Model: a server adds up all looks of a range.  Of increments (alloc_*) that is what was allocated in it.  Of
// levels (inuse_*, peak_*, mapped_*) the sum is divided by the number of looks of the host that has the most of
// them: the mean over time of what all held together, to which a series that was there for a part of the time
// adds for that part.
//
// Failure: throws Failure "ADDRESS: why".
#pragma once

#include <cstdint>
#include <string>

#include "memprof/io/http/http_access.h"
#include "memprof/io/pyroscope/series_facts.h"
#include "profile/model/model.h"

namespace memprof::cli {

// `address`: pyroscope_query.h.
profile::Profile read_pyroscope(const std::string& address, const HttpAccess& access);

// Whether what several looks have of it adds up.
bool adds_up(profile::Metric metric);

// The steps in which looks of a range are counted: 2 to 24 of whole seconds.  `range_ms`: of kRangeUnitMs.
int64_t step_of(int64_t range_ms);

// "2 hosts (a, b)", "3 series (pod: x, y, z)", "1 series": for people.  `label`: looker_label().
std::string lookers_text(const std::string& label, const LookCounts& counts);

}  // namespace memprof::cli
