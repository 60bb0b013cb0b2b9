// SPDX-License-Identifier: Apache-2.0
// What `memprof fleet` prints, as text and as JSON.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <string>

#include "profile/fleet/fleet.h"

namespace memprof::profile {

// At most so many rows of each kind.
std::string fleet_text(const FleetResult& result, size_t rows);
std::string fleet_json(const FleetResult& result);

}  // namespace memprof::profile
