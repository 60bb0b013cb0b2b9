// SPDX-License-Identifier: Apache-2.0
// Reads the columns of packed statistics (packed_statistics.h), without trust.
//
// Threads: no state.
#pragma once

#include <string_view>
#include <vector>

#include "profile/pprof/packed_statistics.h"

namespace memprof::profile {

enum class PackedForm : unsigned char {
  kOfBefore,  // version 1: each number stands there
  kDerived,   // version 2: what follows from other numbers does not
};

// Empty: damaged.  Ids are the short ones.
std::vector<IdentifiedStatistics> unpack_columns(std::string_view bytes, PackedForm form);

}  // namespace memprof::profile
