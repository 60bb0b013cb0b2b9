// SPDX-License-Identifier: Apache-2.0
// What `memprof fleet --over-time` prints, as text and as JSON.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <string>

#include "profile/fleet/fleet_history.h"

namespace memprof::profile {

// At most so many changes and services.
std::string history_text(const FleetHistory& history, size_t rows);
std::string history_json(const FleetHistory& history);

}  // namespace memprof::profile
