// SPDX-License-Identifier: Apache-2.0
// What a process allocated between two looks at it: of the later profile without what the earlier one had.
//
// Model: what was allocated and freed only grows, and is the difference.  What is live, and the peak, are what they
// were at the later look.  Both looks are at the same samples, so that the difference has statistics, and intervals,
// as if sampling had begun at the earlier one.
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

}  // namespace memprof::profile
