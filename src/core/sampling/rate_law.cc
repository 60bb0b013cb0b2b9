// SPDX-License-Identifier: Apache-2.0
#include "core/sampling/rate_law.h"

#include "core/sampling/sampler.h"

namespace memprof {
namespace {

// CPU time after which half of what was known is forgotten; and of what tells that it does not hold any more.
constexpr double kMemoryNs = 1e9;
constexpr double kRecentNs = 0.1e9;
// CPU time in which a debt is paid back, and the most of it that is remembered: as much as the share is of so
// much CPU time.
constexpr double kRepayNs = 4e9;
constexpr double kMaxCreditNs = 0.5e9;
// The share that is aimed at meanwhile, over the one that is wanted.
constexpr double kMinAim = 0.25;
constexpr double kMaxAim = 1.125;
// What lately cost so many times more or less than expected is another program, if it is so much.
constexpr double kOtherwise = 2;
constexpr double kTellingNs = 200e3;
// A program of which nothing is known yet, ns * bytes a ns: 2.8 GB a second, and 30 us for each sample (new stacks, cold
// memory).  16 MiB for 0.5 %.  It counts as much as so much CPU time would.
constexpr double kUnknownWork = 0.005 * 16 * 1024 * 1024;
constexpr double kUnknownNs = 20e6;
// A rate that is as near to the wanted one stays.
constexpr double kNear = 1.18;

double clamp(double x, double min, double max) {
  return x < min ? min : x > max ? max : x;
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

RateLaw::RateLaw(const Budget& budget)
    : budget_(budget), all_{kUnknownWork * kUnknownNs, kUnknownNs}, recent_(all_) {}

uint64_t RateLaw::first(uint64_t rate_bytes) const {
  const auto dear = static_cast<uint64_t>(kUnknownWork / (budget_.share_ppm * 1e-6));
  return within_bounds(nearest_grid_rate(rate_bytes == kDefaultRateBytes ? dear : rate_bytes));
}

uint64_t RateLaw::next(uint64_t rate_bytes, uint64_t spent_ns, uint64_t cpu_ns) {
  const double rate = rate_bytes < 1 ? 1 : static_cast<double>(rate_bytes);
  const auto spent = static_cast<double>(spent_ns);
  const double cpu = cpu_ns < 1 ? 1 : static_cast<double>(cpu_ns);
  const double share = budget_.share_ppm * 1e-6;

  const double expected = all_.cpu_ns > 0 ? all_.work / all_.cpu_ns * cpu / rate : spent;
  const double lately = kRecentNs / (kRecentNs + cpu);
  spent_ns_ = spent_ns_ * lately + spent;
  expected_ns_ = expected_ns_ * lately + expected;
  all_.add(kMemoryNs / (kMemoryNs + cpu), spent * rate, cpu);
  recent_.add(lately, spent * rate, cpu);
  if (spent > kTellingNs && spent > kOtherwise * expected) {
    // A storm: what was before it tells nothing.
    recent_ = all_ = {spent * rate, cpu};
    spent_ns_ = expected_ns_ = spent;
  } else if ((spent_ns_ > kTellingNs && spent_ns_ > kOtherwise * expected_ns_) ||
             (expected_ns_ > kTellingNs && expected_ns_ > kOtherwise * spent_ns_)) {
    all_ = recent_;
    expected_ns_ = spent_ns_;
  }

  debt_ns_ = clamp(debt_ns_ + spent - share * cpu, -share * kMaxCreditNs, share * kRepayNs);
  const double aim = share * clamp(1 - debt_ns_ / (share * kRepayNs), kMinAim, kMaxAim);
  const double wanted = all_.work / all_.cpu_ns / aim;
  if (wanted < rate * kNear && wanted > rate / kNear) {
    return within_bounds(rate_bytes);
  }
  constexpr double kMax = 1e15;
  return within_bounds(nearest_grid_rate(static_cast<uint64_t>(clamp(wanted, 0, kMax))));
}

}  // namespace memprof
