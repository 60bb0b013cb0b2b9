// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/looks/shipped_profile.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "profile/files/gzip.h"
#include "profile/model/metric.h"
#include "profile/pprof/pprof_writer.h"
#include "profile/view/profile_view.h"

namespace memprof::cli {
namespace {

constexpr char kSmallStacks[] = "(small stacks)";

// The largest share that a stack has of any of the sums.
std::vector<double> shares_of(const profile::Profile& profile) {
  std::vector<double> sums(profile::kMetricCount, 0);
  for (const profile::Stack& stack : profile.stacks) {
    for (size_t i = 0; i < sums.size(); ++i) sums[i] += stack.values[i];
  }
  std::vector<double> shares;
  for (const profile::Stack& stack : profile.stacks) {
    double share = 0;
    for (size_t i = 0; i < sums.size(); ++i) {
      if (sums[i] > 0) share = std::max(share, stack.values[i] / sums[i]);
    }
    shares.push_back(share);
  }
  return shares;
}

// Keeps the largest, and one for all others.  Returns how many those are.
size_t fold_small(size_t max_stacks, profile::Profile* profile) {
  if (profile->stacks.size() <= max_stacks) return 0;
  const std::vector<double> shares = shares_of(*profile);
  std::vector<double> sorted = shares;
  const auto last = sorted.begin() + static_cast<std::ptrdiff_t>(max_stacks > 1 ? max_stacks - 2 : 0);
  std::nth_element(sorted.begin(), last, sorted.end(), std::greater<>());
  const double least = *last;
  profile::Stack others;
  std::vector<profile::Stack> kept;
  for (size_t i = 0; i < shares.size(); ++i) {
    profile::Stack& stack = profile->stacks[i];
    if (shares[i] >= least && kept.size() + 1 < max_stacks) {
      kept.push_back(std::move(stack));
      continue;
    }
    for (size_t m = 0; m < profile::kMetricCount; ++m) others.values[m] += stack.values[m];
  }
  const size_t folded = profile->stacks.size() - kept.size();
  others.locations = {static_cast<uint32_t>(profile->locations.size())};
  profile::Location location;
  location.lines = {{static_cast<uint32_t>(profile->functions.size()), 0}};
  profile->locations.push_back(location);
  profile->functions.push_back({kSmallStacks, kSmallStacks, "", 0});
  kept.push_back(std::move(others));
  profile->stacks = std::move(kept);
  profile::drop_unused(profile);
  return folded;
}

bool is_nothing(const profile::Stack& stack) {
  return std::all_of(stack.values.begin(), stack.values.end(), [](double value) { return value == 0; });
}

}  // namespace

profile::Profile shipped_view(profile::Profile profile,
                              std::shared_ptr<const profile::Forwarders> forwarders) {
  profile::ViewRequest request;
  request.view.forwarders = std::move(forwarders);
  request.names = profile::NameStyle::kNoReturnType;
  return profile::view_of(std::move(profile), request);
}

ShippedProfile write_shipped(profile::Profile profile, const ShippedLimits& limits,
                             std::optional<profile::Metric> metric) {
  auto& stacks = profile.stacks;
  stacks.erase(std::remove_if(stacks.begin(), stacks.end(), is_nothing), stacks.end());
  profile::drop_unused(&profile);
  profile::PprofWriteOptions options;
  options.gzip = false;
  options.names_places = true;
  options.metric = metric;
  ShippedProfile shipped;
  size_t max_stacks = limits.max_stacks;
  std::string bytes;
  while (true) {
    shipped.folded_stacks += fold_small(max_stacks, &profile);
    bytes = profile::write_pprof(profile, options);
    if (bytes.size() <= limits.max_bytes || profile.stacks.size() < 2) break;
    max_stacks = profile.stacks.size() / 2;
  }
  shipped.pprof = profile::gzip(bytes);
  return shipped;
}

}  // namespace memprof::cli
