// SPDX-License-Identifier: Apache-2.0
// A report as people read it: what was profiled and how sure the numbers are, the table, and what the table
// does not show.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <string>

#include "profile/report.h"

namespace memprof::profile {

struct TextOptions {
  size_t width = 0;  // columns of the terminal; 0: lines are as long as they are
  bool has_color = false;
};

std::string report_text(const Report& report, const TextOptions& options = {});

}  // namespace memprof::profile
