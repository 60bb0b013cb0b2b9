// SPDX-License-Identifier: Apache-2.0
// A series as text: each total and each large site as a line over time.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "profile/series/series.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

// `file`: as the reader may type it, for what to do next.  `max_rows`: of the table of functions.
std::string series_text(const Series& series, const std::string& file, size_t max_rows,
                        const TextOptions& options);

// Values over time as a line of so many columns, each the highest of its share of the time; a column without a
// value is blank.  From 0 to the highest of all.
std::string line_of(const std::vector<std::pair<uint64_t, double>>& values, uint64_t first_ns,
                    uint64_t last_ns, size_t columns, bool has_utf8);

}  // namespace memprof::profile
