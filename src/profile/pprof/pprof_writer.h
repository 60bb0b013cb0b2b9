// SPDX-License-Identifier: Apache-2.0
// Writes a profile as pprof (profile.proto), with names where it has them.  What memprof's own reader reads
// from it is the same profile; docs/profile-format.md says what each part means.
//
// Threads: no state.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "format/sink.h"
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

// Samples that stand somewhere already, as a profile that memprof wrote has them, and that are written as they are.
struct WrittenSamples {
  std::vector<std::string_view> strings;  // the first of the table, in order: labels have their indices
  std::string_view fields;                // all of the samples
  std::function<std::vector<std::string>()> comments;  // what says of their stacks
};

// In pieces, so that it is never whole in memory.  `samples`: in place of those of the profile's stacks; the profile has
// none then, but all sample types and locations.
// Failure: what the sink throws; where it refuses, the rest is not written.
void write_pprof(const Profile& profile, const PprofWriteOptions& options, const Sink& to,
                 const WrittenSamples* samples = nullptr);

}  // namespace memprof::profile
