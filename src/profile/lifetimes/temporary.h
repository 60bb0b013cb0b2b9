// SPDX-License-Identifier: Apache-2.0
// What is temporary in a profile: allocated and freed again within a time that the reader chooses.
//
// Model: lifetimes are kept by classes (format/lifetime_class.h); the bound that is next to the time is used.
// Sums over these classes are sums over samples, and have intervals as all others.
//
// Threads: no state.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "profile/model/model.h"

namespace memprof::profile {

// Where the reader says nothing: what a call or a request takes.
inline constexpr uint64_t kDefaultTemporaryNs = 10'000'000;

// Whether it says how long blocks lived.
bool has_lifetimes(const Profile& profile);

// Fills in Stack::temporary, and that the profile has the metric; temporary_ns is the bound that was used.
// Failure: throws Error that names `name` where the profile has no lifetimes.
void set_temporary(uint64_t lifetime_ns, const std::string& name, Profile* profile);

// Of the bytes that were freed, those after an unknown time: the room for lifetimes was full.
double unknown_lifetime_bytes(const Profile& profile);

// Blocks by classes, for quantiles.
class LifetimeHistogram {
 public:
  void add(const Lifetime& lifetime) { blocks_[lifetime.lifetime_class] += lifetime.weight_count; }
  double blocks() const;
  // By the logarithm within a class; 0: there are no blocks.
  double quantile_ns(double share) const;

 private:
  std::array<double, kLifetimeClasses> blocks_{};
};

}  // namespace memprof::profile
