// SPDX-License-Identifier: Apache-2.0
#include "core/sampling/rate_law.h"

namespace memprof {
namespace {

// CPU time after which half of what was known is forgotten.
constexpr double kMemoryNs = 1e9;
// CPU time in which a debt is paid back, and the most of it that is remembered: as much as the share is of so
// much CPU time.
constexpr double kRepayNs = 4e9;
constexpr double kMostCreditNs = 0.5e9;
// The share that is aimed at meanwhile, over the one that is wanted.
constexpr double kLeastAim = 0.25;
constexpr double kMostAim = 1.125;
// A period that costs so many times more or less than expected is of another program, if it is of so much.
constexpr double kOtherwise = 2;
constexpr double kTellingNs = 200e3;
// A rate that is as near to the wanted one stays.
constexpr double kNear = 1.18;

double clamp(double x, double least, double most) {
  return x < least ? least : x > most ? most : x;
}

}  // namespace

uint64_t nearest_grid_rate(uint64_t rate_bytes) {
  if (rate_bytes < 2) {
    return rate_bytes;
  }
  const int power = 63 - __builtin_clzll(rate_bytes);
  const uint64_t low = uint64_t{1} << power;
  const uint64_t middle = low + low / 2;
  // Between a and b the geometric mean decides.
  const auto is_nearer_to = [rate_bytes](uint64_t b, uint64_t a) {
    return static_cast<double>(rate_bytes) * static_cast<double>(rate_bytes) >
           static_cast<double>(a) * static_cast<double>(b);
  };
  if (rate_bytes >= middle) {
    return is_nearer_to(2 * low, middle) ? 2 * low : middle;
  }
  return is_nearer_to(middle, low) ? middle : low;
}

uint64_t RateLaw::within_bounds(uint64_t rate_bytes) const {
  return rate_bytes < budget_.min_rate_bytes   ? budget_.min_rate_bytes
         : rate_bytes > budget_.max_rate_bytes ? budget_.max_rate_bytes
                                               : rate_bytes;
}

uint64_t RateLaw::first(uint64_t rate_bytes) const {
  return within_bounds(nearest_grid_rate(rate_bytes));
}

uint64_t RateLaw::next(uint64_t rate_bytes, uint64_t spent_ns, uint64_t cpu_ns) {
  const double rate = rate_bytes < 1 ? 1 : static_cast<double>(rate_bytes);
  const auto spent = static_cast<double>(spent_ns);
  const double cpu = cpu_ns < 1 ? 1 : static_cast<double>(cpu_ns);
  const double share = budget_.share_ppm * 1e-6;

  const double expected = cpu_ns_ > 0 ? work_ / cpu_ns_ * cpu / rate : spent;
  if ((spent > kTellingNs && spent > kOtherwise * expected) ||
      (expected > kTellingNs && expected > kOtherwise * spent)) {
    work_ = cpu_ns_ = 0;
  }
  const double kept = kMemoryNs / (kMemoryNs + cpu);
  work_ = work_ * kept + spent * rate;
  cpu_ns_ = cpu_ns_ * kept + cpu;

  debt_ns_ = clamp(debt_ns_ + spent - share * cpu, -share * kMostCreditNs, share * kRepayNs);
  const double aim = share * clamp(1 - debt_ns_ / (share * kRepayNs) , kLeastAim, kMostAim);
  const double wanted = work_ / cpu_ns_ / aim;
  if (wanted < rate * kNear && wanted > rate / kNear) {
    return within_bounds(rate_bytes);
  }
  constexpr double kMost = 1e15;
  return within_bounds(nearest_grid_rate(static_cast<uint64_t>(clamp(wanted, 0, kMost))));
}

}  // namespace memprof
