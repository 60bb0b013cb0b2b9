// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/site_lives.h"

#include <algorithm>

#include "profile/model/estimate.h"

namespace memprof::profile {

void SiteLives::add(const Stack& stack) {
  for (const Lifetime& lifetime : stack.lifetimes) {
    freed[lifetime.lifetime_class].add(static_cast<double>(lifetime.samples), lifetime.weight_count,
                                       lifetime.weight_bytes);
  }
  for (const Birth& birth : stack.births) {
    living[birth.part].add(static_cast<double>(birth.samples), birth.weight_count, birth.weight_bytes);
  }
  for (const LiveGroup& group : stack.live) {
    const auto samples = static_cast<double>(group.samples);
    const double bytes =
        static_cast<double>(group.size_bytes) / sampling_probability(group.size_bytes, group.rate_bytes);
    live_samples_ += samples;
    live_bytes_ += samples * bytes;
    live_squares_ += samples * bytes * bytes;
  }
}

double SiteLives::spread() const {
  return live_bytes_ > 0 ? std::max(live_samples_ * live_squares_ / (live_bytes_ * live_bytes_), 1.0) : 1;
}

LivesSum SiteLives::all_freed() const {
  LivesSum sum;
  for (const LivesSum& one : freed) sum.add(one.samples, one.blocks, one.bytes);
  return sum;
}

LivesSum SiteLives::all_living() const {
  LivesSum sum;
  for (const LivesSum& one : living) sum.add(one.samples, one.blocks, one.bytes);
  return sum;
}

}  // namespace memprof::profile
