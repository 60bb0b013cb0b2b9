// SPDX-License-Identifier: Apache-2.0
// Sums by place, whose intervals the library computes.
#pragma once

#include "values.h"

namespace memprof::node {

// (snapshot): {estimatedHeapBytes, estimatedHeapBlocks}
napi_value get_live_sum(const Call& call);

// (snapshot, n, metric, youngerNs): the n places that hold the most
napi_value get_top(const Call& call);

// (before, after): {growth, rows}
napi_value get_difference(const Call& call);

// (snapshot, allFrames): the tree of calls with live bytes, of JavaScript of the program or of all frames: an array of
// {parent, sizeBytes, frame}, a parent before its children; the first is the root, without a frame
napi_value get_tree(const Call& call);

}  // namespace memprof::node
