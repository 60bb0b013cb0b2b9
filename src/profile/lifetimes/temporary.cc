// SPDX-License-Identifier: Apache-2.0
#include "profile/lifetimes/temporary.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "profile/model/error.h"
#include "profile/model/metric.h"

namespace memprof::profile {

namespace {

// Of how long blocks lived: what of it a profile has.
struct Known {
  bool statistics = false;
  bool freed = false;
  bool lifetimes = false;
};

Known known_of(const Profile& profile) {
  Known known;
  known.statistics = profile.stacks.empty();
  for (const Stack& stack : profile.stacks) {
    known.statistics = known.statistics || stack.has_statistics;
    known.freed = known.freed || stack.freed.samples != 0;
    known.lifetimes = known.lifetimes || !stack.lifetimes.empty();
  }
  return known;
}

}  // namespace

bool has_lifetimes(const Profile& profile) {
  const Known known = known_of(profile);
  return profile.from_memprof && known.statistics && (known.lifetimes || !known.freed);
}

void set_temporary(uint64_t lifetime_ns, const std::string& name, Profile* profile) {
  const Known known = known_of(*profile);
  if (!profile->from_memprof || !known.statistics) {
    throw Error(name + (profile->from_memprof
                            ? ": does not say how long blocks lived: another program altered it"
                            : ": does not say how long blocks lived: memprof did not write it"));
  }
  if (known.freed && !known.lifetimes) {
    throw Error(name +
                ": does not say how long blocks lived: an older memprof wrote it, or is in the process");
  }
  const uint32_t within = lifetime_classes_within(lifetime_ns);
  for (Stack& stack : profile->stacks) {
    stack.temporary = younger_totals(stack.allocated, stack.lifetimes.data(), stack.lifetimes.size(), within);
  }
  profile->temporary_ns = lifetime_class_begin_ns(within);
  profile->has_metric[metric_index(Metric::kTemporaryObjects)] = true;
  profile->has_metric[metric_index(Metric::kTemporarySpace)] = true;
}

// What a sample that was thinned out stood for counts as freed, and so does, with a minus, what others stand for
// since: both are nobody's lifetime, and cancel each other.
double unknown_lifetime_bytes(const Profile& profile) {
  double bytes = 0;
  for (const Stack& stack : profile.stacks) {
    bytes += stack.freed.weight_bytes;
    for (const Lifetime& lifetime : stack.lifetimes) bytes -= lifetime.weight_bytes;
  }
  return std::max(bytes, 0.0);
}

double LifetimeHistogram::blocks() const {
  return std::accumulate(blocks_.begin(), blocks_.end(), 0.0);
}

double LifetimeHistogram::quantile_ns(double share) const {
  double left = share * blocks();
  for (uint32_t i = 0; i < kLifetimeClasses; ++i) {
    if (blocks_[i] > 0 && left <= blocks_[i]) {
      const auto begin = static_cast<double>(std::max<uint64_t>(lifetime_class_begin_ns(i), 300));
      const auto end = static_cast<double>(lifetime_class_end_ns(i));
      return begin * std::pow(end / begin, left / blocks_[i]);
    }
    left -= blocks_[i];
  }
  return 0;
}

}  // namespace memprof::profile
