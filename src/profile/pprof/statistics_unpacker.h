// SPDX-License-Identifier: Apache-2.0
// Reads the columns of packed statistics (packed_statistics.h), without trust.
//
// Threads: no state.
#pragma once

#include <string_view>
#include <vector>

#include "profile/pprof/packed_statistics.h"

namespace memprof::profile {

// Empty: damaged.  Ids are the short ones.
std::vector<IdentifiedStatistics> unpack_columns(std::string_view bytes);

}  // namespace memprof::profile
