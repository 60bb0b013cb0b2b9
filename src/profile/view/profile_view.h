// SPDX-License-Identifier: Apache-2.0
// The part of a profile that is written: the stacks that a filter selects, with the frames that a report shows,
// named as a report names them.
//
// Model: stacks that become equal are merged and their statistics summed, so that every total stays the same.  A
// location without some of its inlined functions keeps its address.  Grouped by file, module, heap or process,
// neighbouring frames of one group are one location, whose address is made up.
//
// Threads: no state.
#pragma once

#include "profile/matching/stack_filter.h"
#include "profile/model/model.h"
#include "profile/names/frame_grouping.h"

namespace memprof::profile {

// What functions are called.
enum class NameStyle : unsigned char {
  kWhole,         // as the profile has them
  kNoReturnType,  // as pprof would make them of the symbol
  kShown,         // as tables show them: shown_name()
};

struct ViewRequest {
  StackFilter filter;
  GroupBy by = GroupBy::kFunction;  // kLine is the same here: locations have both
  FrameView view;                   // all: as recorded, with the allocation functions
  NameStyle names = NameStyle::kWhole;
};

Profile view_of(Profile profile, const ViewRequest& request);

// Without these frames.  A stack that has no other keeps its outermost one.
void hide_frames(const HiddenFrames& hidden, Profile* profile);

// Only the stacks that the filter leaves.
void keep_selected(const StackFilter& filter, Profile* profile);

// Without locations and functions that no stack has.
void drop_unused(Profile* profile);

}  // namespace memprof::profile
