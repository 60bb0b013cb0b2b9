// SPDX-License-Identifier: Apache-2.0
// Writes a profile as pprof (profile.proto), with names where it has them.  What memprof's own reader reads
// from it is the same profile; docs/profile-format.md says what each part means.
//
// Threads: no state.
#pragma once

#include <optional>
#include <string>

#include "profile/model/model.h"

namespace memprof::profile {

struct PprofWriteOptions {
  bool gzip = true;  // the same bytes each time: no time stamp, no file name
  // The default sample type; else what the profile is most likely asked for.
  std::optional<Metric> metric = std::nullopt;
  bool names_places = false;  // for other readers: place_names.h
  bool shares_sizes = false;  // of a stack with very many sizes of live blocks (view/shared_sizes.h)
};

std::string write_pprof(const Profile& profile, const PprofWriteOptions& options = {});

}  // namespace memprof::profile
