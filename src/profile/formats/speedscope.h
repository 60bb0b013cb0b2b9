// SPDX-License-Identifier: Apache-2.0
// Writes a profile for speedscope.app: one `sampled` profile a metric.
// Format: https://www.speedscope.app/file-format-schema.json
//
// Threads: no state.
#pragma once

#include <optional>
#include <string>

#include "profile/model/model.h"
#include "profile/names/frame_grouping.h"

namespace memprof::profile {

struct SpeedscopeOptions {
  std::string name;                             // the title that the viewer shows
  std::optional<Metric> metric = std::nullopt;  // that the viewer opens on; else the profile's default
  GroupBy by = GroupBy::kFunction;
};

std::string write_speedscope(const Profile& profile, const SpeedscopeOptions& options);

}  // namespace memprof::profile
