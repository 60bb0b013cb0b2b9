// SPDX-License-Identifier: Apache-2.0
// The frames that a reader does not want to see, as pprof's hide: what they allocate counts as their callers'.
//
// Model: as for a filter (stack_filter.h) an expression matches a frame if it is found in the name of its
// function, its source file, or the file name of its module.
//
// Threads: no state.
#pragma once

#include <memory>

#include "profile/matching/pattern.h"
#include "profile/names/frame_grouping.h"

namespace memprof::profile {

std::shared_ptr<const HiddenFrames> hidden_frames(const Pattern& pattern);

}  // namespace memprof::profile
