// SPDX-License-Identifier: Apache-2.0
// The rates that were in force while a profile was made.
//
// Allocates: yes, it runs outside of hooks.
#pragma once

#include <vector>

#include "format/rate_use.h"
#include "profile/model/model.h"

namespace memprof::profile {

// Of two profiles, ascending.
std::vector<RateUse> add_rates(const std::vector<RateUse>& a, const std::vector<RateUse>& b);

// The profile's rates; of one without a list, the only one, for all bytes.
std::vector<RateUse> rates_of(const Profile& profile);

// The coarsest of them: what it did not see may be this much.
uint64_t coarsest_rate(const Profile& profile);

}  // namespace memprof::profile
