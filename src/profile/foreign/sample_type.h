// SPDX-License-Identifier: Apache-2.0
// What the sample types of pprof files by other profilers mean: of Go, tcmalloc, Datadog's (Python, Ruby, .NET, PHP, Node),
// and of what converts the JVM's recordings (JFR).
//
// Threads: no state.
#pragma once

#include <optional>
#include <string_view>

#include "profile/model/model.h"

namespace memprof::profile {

struct SampleTypeMatch {
  Metric metric = Metric::kInuseSpace;
  int rank = 0;          // how well it fits: the largest counts
  double factor = 1;     // to bytes or blocks
  bool is_part = false;  // it and others of its rank together are the metric
};

// Nothing: it is not of memory, or its unit is not of bytes or blocks.
std::optional<SampleTypeMatch> match_sample_type(std::string_view type, std::string_view unit);

// The same by the unit alone: bytes, or blocks, that live.
std::optional<SampleTypeMatch> match_unit(std::string_view unit);

}  // namespace memprof::profile
