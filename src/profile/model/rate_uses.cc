// SPDX-License-Identifier: Apache-2.0
#include "profile/model/rate_uses.h"

#include <algorithm>
#include <limits>
#include <map>

namespace memprof::profile {
namespace {

// What files say may be anything.
uint64_t sum(uint64_t a, uint64_t b) {
  constexpr uint64_t kMax = std::numeric_limits<uint64_t>::max();
  return a > kMax - b ? kMax : a + b;
}

}  // namespace

std::vector<RateUse> add_rates(const std::vector<RateUse>& a, const std::vector<RateUse>& b) {
  std::map<uint64_t, RateUse> by_rate;
  for (const std::vector<RateUse>* some : {&a, &b}) {
    for (const RateUse& use : *some) {
      RateUse& known = by_rate[use.rate_bytes];
      known.rate_bytes = use.rate_bytes;
      known.weight_bytes = sum(known.weight_bytes, use.weight_bytes);
      known.time_ns = sum(known.time_ns, use.time_ns);
    }
  }
  std::vector<RateUse> uses;
  for (const auto& [rate, use] : by_rate) uses.push_back(use);
  return uses;
}

std::vector<RateUse> rates_of(const Profile& profile) {
  if (!profile.rates.empty()) return profile.rates;
  double bytes = 0;
  for (const Stack& stack : profile.stacks) bytes += stack.allocated.weight_bytes;
  constexpr double kMax = 1e18;
  return {{profile.rate_bytes, static_cast<uint64_t>(std::clamp(bytes, 0.0, kMax)), profile.duration_ns}};
}

uint64_t coarsest_rate(const Profile& profile) {
  uint64_t rate = profile.rate_bytes;
  for (const RateUse& use : profile.rates) rate = std::max(rate, use.rate_bytes);
  return rate;
}

}  // namespace memprof::profile
