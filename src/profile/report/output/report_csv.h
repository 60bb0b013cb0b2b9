// SPDX-License-Identifier: Apache-2.0
// The rows of a report as comma-separated values (docs/exports.md has the columns): of its table, or of its sizes.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/report/report.h"

namespace memprof::profile {

std::string report_csv(const Report& report);

}  // namespace memprof::profile
