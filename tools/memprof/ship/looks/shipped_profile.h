// SPDX-License-Identifier: Apache-2.0
// A profile as it is shipped: with the frames that reports show, and small enough for services.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "profile/model/metric.h"
#include "profile/model/model.h"
#include "profile/names/forwarders.h"

namespace memprof::cli {

// What Pyroscope takes by default: 16,000 samples, and 4 MiB before compression.
struct ShippedLimits {
  size_t max_stacks = 15'000;
  size_t max_bytes = size_t{7} << 19;  // 3.5 MiB
};

struct ShippedProfile {
  std::string pprof;  // gzip
  size_t folded_stacks =
      0;  // small ones that are one stack, "(small stacks)", so that sums stay what they are
};

// The frames of a report; names as pprof has them.  `forwarders`: nullptr: those of the profile.
profile::Profile shipped_view(profile::Profile profile,
                              std::shared_ptr<const profile::Forwarders> forwarders = nullptr);

// `metric`: the default sample type; else what the profile is most likely asked for.
ShippedProfile write_shipped(profile::Profile profile, const ShippedLimits& limits = {},
                             std::optional<profile::Metric> metric = std::nullopt);

}  // namespace memprof::cli
