// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/birth_spread.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "profile/significance/distributions.h"

namespace memprof::profile {
namespace {

constexpr double kStoppedChance = 0.002;  // of one of three looks
constexpr double kSlowingChance = 0.01;
constexpr double kSlowing = 0.6;  // of the rate of before
constexpr double kFaded = 0.3;
constexpr double kMinShareOfRate = 0.25;
constexpr double kDense = 0.9;

double sum_of(const std::vector<double>& values, size_t from, size_t until) {
  double sum = 0;
  for (size_t i = from; i < until; ++i) sum += values[i];
  return sum;
}

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  const double upper = *middle;
  return values.size() % 2 != 0 ? upper : (upper + *std::max_element(values.begin(), middle)) / 2;
}

// How much more neighbours differ than counts of independent samples do; a trend does not count.
double dispersion(const std::vector<double>& counts) {
  double squares = 0;
  for (size_t i = 1; i < counts.size(); ++i) squares += std::pow(counts[i] - counts[i - 1], 2);
  const double mean = sum_of(counts, 0, counts.size()) / static_cast<double>(counts.size());
  const double variance = squares / (2 * static_cast<double>(counts.size() - 1));
  return mean > 0 ? std::max(variance / mean, 1.0) : 1;
}

// That a third has its part of all.
double third_p_value(const std::vector<double>& counts, size_t from, size_t until, double all) {
  const auto length = static_cast<double>(until - from);
  const auto rest = static_cast<double>(counts.size()) - length;
  const double share = kMinShareOfRate * length / (kMinShareOfRate * length + rest);
  return binomial_tail(sum_of(counts, from, until), all, share);
}

void find_dense(const std::vector<double>& counts, BirthSpread* spread) {
  const double enough = kDense * spread->samples;
  for (uint32_t length = 1; length <= counts.size(); ++length) {
    for (uint32_t from = 0; from + length <= counts.size(); ++from) {
      if (sum_of(counts, from, from + length) < enough) continue;
      spread->dense_first = from;
      spread->dense_parts = length;
      return;
    }
  }
}

bool has_stopped(const std::vector<double>& counts) {
  for (const size_t length : {size_t{1}, size_t{2}, size_t{4}}) {
    const size_t before = counts.size() - length;
    const double rate = sum_of(counts, 0, before) / static_cast<double>(before);
    const double expected = rate * static_cast<double>(length);
    const double found = sum_of(counts, before, counts.size());
    if (found < kFaded * expected && poisson_head(found, expected) < kStoppedChance) return true;
  }
  return false;
}

// Most parts up to the last one have some, and it has been silent for half as long as that.
bool is_silent(const std::vector<double>& counts, const BirthSpread& spread) {
  constexpr double kMaxParts = 0.7;
  constexpr uint32_t kFewestParts = 2;
  uint32_t occupied = 0;
  for (const double count : counts) occupied += count > 0 ? 1 : 0;
  const uint32_t length = spread.last - spread.first + 1;
  const uint32_t silent = spread.parts - spread.last - 1;
  return occupied >= kMaxParts * length && silent >= std::max(kFewestParts, length / 2);
}

// The rate of the last third over that of the middle one, where it is less by more than chance; else 1.
double slowing(const std::vector<double>& counts, size_t third) {
  const size_t last_begin = counts.size() - third;
  const double before = sum_of(counts, third, last_begin) / static_cast<double>(last_begin - third);
  const double expected = before * static_cast<double>(third);
  const double found = sum_of(counts, last_begin, counts.size());
  const double both = sum_of(counts, third, counts.size());
  const double share = static_cast<double>(last_begin - third) / static_cast<double>(counts.size() - third);
  return found < expected && binomial_tail(both - found, both, share) < kSlowingChance ? found / expected : 1;
}

// The second half has less than half the rate of the first, by more than chance.
bool has_halved(const std::vector<double>& counts) {
  constexpr double kHalf = 0.5;
  const size_t half = counts.size() / 2;
  const double before = sum_of(counts, 0, half);
  const double after = sum_of(counts, counts.size() - half, counts.size());
  return after < kHalf * before && binomial_tail(before, before + after, kHalf) < kSlowingChance;
}

// Its end has much less than before, by what may still be chance: too much of it to call it growth.
bool may_have_stopped(const std::vector<double>& counts) {
  constexpr double kChance = 0.01;
  constexpr double kMuchLess = 0.5;
  for (size_t length = 1; length <= counts.size() / 4; ++length) {
    const size_t before = counts.size() - length;
    const double expected =
        sum_of(counts, 0, before) / static_cast<double>(before) * static_cast<double>(length);
    const double found = sum_of(counts, before, counts.size());
    if (found < kMuchLess * expected && poisson_head(found, expected) < kChance) return true;
  }
  return false;
}

GrowthRate growth_rate(const SiteLives& lives, const std::vector<double>& counts,
                       const std::vector<double>& capped, double worth) {
  double bytes = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) bytes += lives.living[i].bytes * capped[i] / counts[i];
  }
  const auto parts = static_cast<uint32_t>(counts.size());
  const double minutes = (lives.run_ns - lives.age_ns(kBirthParts - parts)) / kNsPerMinute;
  const double samples = sum_of(capped, 0, capped.size()) * worth;
  GrowthRate rate;
  if (!(minutes > 0) || !(samples > 0)) return rate;
  rate.bytes_per_minute = bytes / minutes;
  const PoissonInterval expected = poisson_interval(samples);
  rate.low = rate.bytes_per_minute * expected.low / samples;
  rate.high = rate.bytes_per_minute * expected.high / samples;
  return rate;
}

}  // namespace

BirthSpread birth_spread(const SiteLives& lives, uint32_t parts) {
  BirthSpread spread;
  spread.parts = parts;
  std::vector<double> counts;
  for (uint32_t i = 0; i < parts; ++i) counts.push_back(lives.living[i].samples);
  spread.samples = sum_of(counts, 0, counts.size());
  if (!(spread.samples > 0)) return spread;
  const auto is_there = [](double count) { return count > 0; };
  spread.first = static_cast<uint32_t>(std::find_if(counts.begin(), counts.end(), is_there) - counts.begin());
  spread.last =
      static_cast<uint32_t>(counts.rend() - std::find_if(counts.rbegin(), counts.rend(), is_there)) - 1;
  find_dense(counts, &spread);

  const double max = 3 * median_of(counts) + 3;
  std::vector<double> capped;
  capped.reserve(counts.size());
  for (const double count : counts) capped.push_back(std::min(count, max));
  const double factor = dispersion(capped);
  std::vector<double> worths;
  worths.reserve(capped.size());
  for (const double count : capped) worths.push_back(count / factor);

  const size_t third = std::max<size_t>(parts / 3, 1);
  const double all = sum_of(worths, 0, worths.size());
  spread.p_value =
      std::max({third_p_value(worths, 0, third, all), third_p_value(worths, third, parts - third, all),
                third_p_value(worths, parts - third, parts, all)});
  spread.has_stopped = has_stopped(worths) || is_silent(counts, spread);
  const double slowed = slowing(worths, third);
  spread.has_faded = slowed < kFaded;
  spread.is_slowing = slowed < kSlowing;
  spread.has_halved = has_halved(worths);
  spread.may_have_stopped = may_have_stopped(worths);
  spread.rate = growth_rate(lives, counts, capped, 1 / (factor * lives.spread_of_bytes()));
  return spread;
}

}  // namespace memprof::profile
