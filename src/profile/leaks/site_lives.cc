// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/site_lives.h"

#include <algorithm>
#include <iterator>

#include "profile/model/estimate.h"

namespace memprof::profile {

namespace {

using ByClass = std::array<double, kLifetimeClasses>;

// Samples that are both live and freed, and counted in the lifetimes: a library of this version counts none there.
double freed_by_the_end(const Stack& stack) {
  double live = 0;
  for (const Birth& birth : stack.births) live += static_cast<double>(birth.samples);
  double both = live - static_cast<double>(stack.allocated.samples);
  for (const Lifetime& lifetime : stack.lifetimes) both += static_cast<double>(lifetime.samples);
  return std::clamp(both, 0.0, live);
}

// How many live samples have an age of each class.
ByClass ages_of(const Stack& stack, double run_ns) {
  ByClass ages{};
  const double part_ns = run_ns / kBirthParts;
  for (const Birth& birth : stack.births) {
    const double until = run_ns - part_ns * birth.part;
    const double from = until - part_ns;
    for (uint32_t i = 0; i < kLifetimeClasses; ++i) {
      const double low = std::max(from, static_cast<double>(lifetime_class_begin_ns(i)));
      const double high = std::min(until, static_cast<double>(lifetime_class_end_ns(i)));
      if (low < high) ages[i] += static_cast<double>(birth.samples) * (high - low) / part_ns;
    }
  }
  return ages;
}

// How many samples of each class the end freed.  What a class has too few of is taken from the next younger one.
ByClass freed_at_end(const Stack& stack, double run_ns) {
  ByClass taken{};
  double left = freed_by_the_end(stack);
  if (!(left > 0)) return taken;
  const ByClass ages = ages_of(stack, run_ns);
  double live = 0;
  for (const double samples : ages) live += samples;
  const double share = live > 0 ? left / live : 0;
  double wanted = 0;
  for (auto lifetime = stack.lifetimes.rbegin(); lifetime != stack.lifetimes.rend(); ++lifetime) {
    const uint32_t older =
        lifetime == stack.lifetimes.rbegin() ? kLifetimeClasses : std::prev(lifetime)->lifetime_class;
    for (uint32_t i = lifetime->lifetime_class; i < older; ++i) wanted += share * ages[i];
    const double took = std::min({wanted, left, static_cast<double>(lifetime->samples)});
    taken[lifetime->lifetime_class] = took;
    wanted -= took;
    left -= took;
  }
  return taken;
}

}  // namespace

void SiteLives::add(const Stack& stack) {
  const ByClass at_end = freed_at_end(stack, run_ns);
  is_corrected = is_corrected || freed_by_the_end(stack) > 0;
  for (const Lifetime& lifetime : stack.lifetimes) {
    const auto samples = static_cast<double>(lifetime.samples);
    const double share = std::max(1 - at_end[lifetime.lifetime_class] / samples, 0.0);
    freed[lifetime.lifetime_class].add(share * samples, share * lifetime.weight_count,
                                       share * lifetime.weight_bytes);
  }
  for (const Birth& birth : stack.births) {
    living[birth.part].add(static_cast<double>(birth.samples), birth.weight_count, birth.weight_bytes);
  }
  for (const LiveGroup& group : stack.live) {
    const auto samples = static_cast<double>(group.samples);
    const double blocks = 1 / sampling_probability(group.size_bytes, group.rate_bytes);
    const double bytes = blocks * static_cast<double>(group.size_bytes);
    live_samples_ += samples;
    bytes_.sum += samples * bytes;
    bytes_.squares += samples * bytes * bytes;
    blocks_.sum += samples * blocks;
    blocks_.squares += samples * blocks * blocks;
  }
}

double SiteLives::spread(const Weights& weights) const {
  return weights.sum > 0 ? std::max(live_samples_ * weights.squares / (weights.sum * weights.sum), 1.0) : 1;
}

double SiteLives::spread_of_bytes() const {
  return spread(bytes_);
}

double SiteLives::spread_of_blocks() const {
  return spread(blocks_);
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
