// SPDX-License-Identifier: Apache-2.0
// A report as JSON.  The format is an interface: docs/report-json.md.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/report/report.h"

namespace memprof::profile {

// Ends with a line break.
std::string report_json(const Report& report);

}  // namespace memprof::profile
