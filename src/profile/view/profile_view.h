// SPDX-License-Identifier: Apache-2.0
// A profile as a reader wants it written: of its stacks those that are asked for, of each stack the frames that
// a report shows, named as a report names them.
//
// Model: stacks that are then the same become one, and their statistics add up, so that every sum stays what it
// was.  A location of which inlined functions are left out keeps its address.  By file, module, heap or
// process, what belongs together and follows each other is one location, with an address that means nothing.
//
// Threads: no state.
#pragma once

#include "profile/model/model.h"
#include "profile/names/frame_grouping.h"
#include "profile/names/stack_filter.h"

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

// Only the stacks that the filter leaves.
void keep_selected(const StackFilter& filter, Profile* profile);

// Without locations and functions that no stack has.
void drop_unused(Profile* profile);

}  // namespace memprof::profile
