// SPDX-License-Identifier: Apache-2.0
// Who called a place, and what of a runtime it is a part of.
//
// Threads: no state.
#pragma once

#include <optional>
#include <vector>

#include "profile/names/frame_grouping.h"

namespace memprof::profile {

// Of a stack whose innermost frame is native: the first line outwards that a language's runtime executes.
std::optional<FrameGroup> executed_caller(const Profile& profile, const FrameGrouping& grouping,
                                          const std::vector<GroupedFrame>& frames);

// By location: code of a language's runtime that loads modules.  What it calls is called once.
std::vector<bool> module_loaders(const Profile& profile);

}  // namespace memprof::profile
