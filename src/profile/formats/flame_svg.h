// SPDX-License-Identifier: Apache-2.0
// Draws one metric of a profile as a flame graph in an SVG file: calls from the root down, each box as wide as what
// it holds, the heaviest first.  For a ticket or a page: nothing is loaded, and there is no script in it.
//
// Model: a function that calls itself is one box.  Boxes too narrow to see are left out, and beyond a number of boxes
// the narrowest: the line below the picture says how many and how much.  What is below zero (a difference of profiles)
// stands to the right, has a colour of its own and a minus sign, and is as wide as its size.  Names are anybody's: they
// become text, and their length is limited.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/model/model.h"
#include "profile/names/frame_grouping.h"

namespace memprof::profile {

struct FlameOptions {
  std::string name;  // a title
  Metric metric = Metric::kInuseSpace;
  GroupBy by = GroupBy::kFunction;
};

std::string write_flame_svg(const Profile& profile, const FlameOptions& options);

}  // namespace memprof::profile
