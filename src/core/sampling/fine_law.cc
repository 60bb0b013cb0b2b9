// SPDX-License-Identifier: Apache-2.0
#include "core/sampling/fine_law.h"

#include "core/sampling/sampler.h"
#include "estimate/math.h"

namespace memprof {
namespace {

static_assert(FineLaw::kLastRateBytes == kDefaultRateBytes);

// What is kept of the costs that are known, at each look.
constexpr double kKept = 0.5;
// Dear samples are taken at most so many times more rarely.
constexpr double kMaxTimesRarer = 8;
// A rate stays where the wanted one is nearer than this, as a factor: less than half a step, and some more, so that it
// does not go to and fro.
constexpr double kFineNear = 1.6;

}  // namespace

double FineLaw::rate_after(uint64_t bytes) {
  const auto small = static_cast<double>(kSmallBytes);
  const auto all = static_cast<double>(bytes < kFirstBytes ? kFirstBytes : bytes);
  const double seen = all <= small ? all : all * square_root(square_root(all / small));
  return seen / static_cast<double>(kSamples);
}

uint64_t FineLaw::next(uint64_t rate_bytes, uint64_t bytes, uint64_t samples, uint64_t spent_ns) {
  spent_ns_ = spent_ns_ * kKept + static_cast<double>(spent_ns);
  samples_ = samples_ * kKept + static_cast<double>(samples);
  const double dearer = spent_ns_ / samples_ / static_cast<double>(kCostNs);
  const double fewer = dearer < 1 ? 1 : dearer * dearer < kMaxTimesRarer ? dearer * dearer : kMaxTimesRarer;
  const double wanted = rate_after(bytes) * fewer;
  const auto rate = static_cast<double>(rate_bytes);
  if (wanted < rate * kFineNear && wanted > rate / kFineNear) {
    return rate_bytes;
  }
  uint64_t power = kFirstRateBytes;
  // The nearer of two powers is that below their geometric mean.
  while (power < kLastRateBytes &&
         wanted * wanted > 2 * static_cast<double>(power) * static_cast<double>(power)) {
    power *= 2;
  }
  return power;
}

}  // namespace memprof
