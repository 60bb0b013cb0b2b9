// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/site_lives.h"

#include <algorithm>
#include <iterator>

#include "profile/model/error.h"
#include "profile/model/estimate.h"

namespace memprof::profile {

namespace {

// Samples that are both live and freed, and counted in the lifetimes: a library of this version counts none there.
double freed_by_the_end(const Stack& stack) {
  double live = 0;
  for (const Birth& birth : stack.births) live += static_cast<double>(birth.samples);
  double both = live - static_cast<double>(stack.allocated.samples);
  for (const Lifetime& lifetime : stack.lifetimes) both += static_cast<double>(lifetime.samples);
  return std::clamp(both, 0.0, live);
}

}  // namespace

void SiteLives::count_by(const LoadTimes& load) {
  // Two parts may have begun at one moment.
  constexpr double kMinPart = 1e-6;
  is_by_load_ = true;
  run_ns = static_cast<double>(load.end_ns());
  for (uint32_t parts = 1; parts <= kBirthParts; ++parts) {
    const double age = run_ns - static_cast<double>(load.at_ns[kBirthParts - parts]);
    load_ages_ns_[parts] = std::max(age, load_ages_ns_[parts - 1] + kMinPart * run_ns);
  }
  run_ns = load_ages_ns_[kBirthParts];
}

const std::vector<Birth>& SiteLives::births_of(const Stack& stack) const {
  return is_by_load_ && !stack.load_births.empty() ? stack.load_births : stack.births;
}

// How many live samples have an age of each class.
SiteLives::ByClass SiteLives::ages_of(const Stack& stack) const {
  ByClass ages{};
  for (const Birth& birth : births_of(stack)) {
    const double until = oldest_ns(birth.part);
    const double from = youngest_ns(birth.part);
    for (uint32_t i = 0; i < kLifetimeClasses; ++i) {
      const double low = std::max(from, static_cast<double>(lifetime_class_begin_ns(i)));
      const double high = std::min(until, static_cast<double>(lifetime_class_end_ns(i)));
      if (low < high) ages[i] += static_cast<double>(birth.samples) * (high - low) / (until - from);
    }
  }
  return ages;
}

// How many samples of each class the end freed.  What a class has too few of is taken from the next younger one.
SiteLives::ByClass SiteLives::freed_at_end(const Stack& stack) const {
  ByClass taken{};
  double left = freed_by_the_end(stack);
  if (!(left > 0)) return taken;
  const ByClass ages = ages_of(stack);
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

void SiteLives::add(const Stack& stack) {
  const ByClass at_end = freed_at_end(stack);
  is_corrected = is_corrected || freed_by_the_end(stack) > 0;
  for (const Lifetime& lifetime : stack.lifetimes) {
    const auto samples = static_cast<double>(lifetime.samples);
    const double share = std::max(1 - at_end[lifetime.lifetime_class] / samples, 0.0);
    freed[lifetime.lifetime_class].add(share * samples, share * lifetime.weight_count,
                                       share * lifetime.weight_bytes);
  }
  for (const Birth& birth : births_of(stack)) {
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

double SiteLives::bytes_born_since(double since_ns) const {
  if (is_by_load_) return 0;
  double bytes = 0;
  for (uint32_t part = 0; part < kBirthParts; ++part) {
    if (run_ns * part / kBirthParts >= since_ns) bytes += living[part].bytes;
  }
  return bytes;
}

void check_lives(const std::string& name, const Profile& profile) {
  bool has_statistics = profile.stacks.empty();
  bool has_live = false;
  bool has_births = false;
  for (const Stack& stack : profile.stacks) {
    has_statistics = has_statistics || stack.has_statistics;
    has_live = has_live || !stack.live.empty();
    has_births = has_births || !stack.births.empty();
  }
  if (!profile.from_memprof || !has_statistics) {
    throw Error(name + (profile.from_memprof
                            ? ": does not say how long blocks live: another program altered it"
                            : ": does not say how long blocks live: memprof did not write it"));
  }
  if (has_live && !has_births) {
    throw Error(
        name +
        ": does not say when what lives was allocated: an older memprof wrote it, or is in the process");
  }
  if (profile.duration_ns == 0) throw Error(name + ": does not say how long the program ran");
}

}  // namespace memprof::profile
