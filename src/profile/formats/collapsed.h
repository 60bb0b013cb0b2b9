// SPDX-License-Identifier: Apache-2.0
// Writes one metric of a profile as collapsed stacks, one a line: `root;caller;leaf 123`.  A `;` in a name
// becomes `:`, a line break a space, so that a line always splits as it was put together.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/model/model.h"
#include "profile/names/frame_grouping.h"

namespace memprof::profile {

// By line, a frame is `function:123`.
std::string write_collapsed(const Profile& profile, Metric metric = Metric::kInuseSpace,
                            GroupBy by = GroupBy::kFunction);

}  // namespace memprof::profile
