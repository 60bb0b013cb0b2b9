// SPDX-License-Identifier: Apache-2.0
// A comparison as text for people: the totals, what grew, what shrank, and a line for the rest.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <string>

#include "profile/compare/comparison.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

// `max_rows`: of each table.
std::string comparison_text(const Comparison& comparison, size_t max_rows, const TextOptions& options);
// The same without the tables, for whoever has them in another form.
std::string comparison_summary(const Comparison& comparison);

}  // namespace memprof::profile
