// SPDX-License-Identifier: Apache-2.0
// What a process allocated between two of its profiles: the later one minus the earlier one.
//
// Model: totals of allocations and frees only grow, and are subtracted.  Live blocks and the peak are those of the
// later profile.  The later profile has all samples of the earlier one, so the difference has statistics and
// intervals, as if sampling had begun at the earlier profile.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/model/model.h"

namespace memprof::profile {

// Why the two are no two looks at one process, the earlier one first; empty: they are.
std::string why_no_increment(const Profile& earlier, const Profile& later);

// Both are best named before.  A comment for people says since when it is.
Profile increment(const Profile& earlier, const Profile& later);

// By that comment: also a sum of profiles (merge.h) of which one is an increment.
bool is_increment(const Profile& profile);

}  // namespace memprof::profile
