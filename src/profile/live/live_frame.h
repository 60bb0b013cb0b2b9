// SPDX-License-Identifier: Apache-2.0
// Draws what a LiveView shows into the cells of a terminal.
//
// Model: what all rows are of, titles, rows, and the keys in the last line.  Columns of numbers have fixed
// widths, so that nothing moves sideways from look to look; where they leave too little room for names, the
// least asked for is left out.  What grew is red, what shrank green.
//
// Threads: no state.
#pragma once

#include "profile/live/live_view.h"
#include "profile/text/cells.h"

namespace memprof::profile {

// Of the size that the view was told.
Cells draw_live(const LiveView& view);

}  // namespace memprof::profile
