// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/packed_numbers.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace memprof::profile::packed {
namespace {

// 16 bits: 6 of the exponent, 10 of the digits; 0 is less than a half.
constexpr int kDigitBits = 10;

// Of a variance the interval has the root: a variance of bytes can be beyond the exponents, its root is not.
double short_variance(double variance) {
  const double root = short_value(short_code(std::sqrt(variance)));
  return root * root;
}

}  // namespace

uint16_t short_code(double value) {
  if (!(value >= 0.5)) return 0;
  int exponent = 0;
  const double digits = std::frexp(value, &exponent);
  const double code = std::round((exponent + 2 * digits - 1) * (1 << kDigitBits)) + 1;
  return static_cast<uint16_t>(std::min(code, 65535.0));
}

double short_value(uint16_t code) {
  if (code == 0) return 0;
  const int number = code - 1;
  const double digits = 0.5 + static_cast<double>(number & ((1 << kDigitBits) - 1)) / (2 << kDigitBits);
  return std::ldexp(digits, number >> kDigitBits);
}

// The largest that a sample stands for beside itself is of the smallest block: its kind says both.
std::optional<SampleKind> smallest_of(const Totals& totals, uint64_t rate_bytes) {
  if (totals.max_missed_count == 0 && totals.max_missed_bytes == 0) return SampleKind{1, 0, 1};
  const double size = std::round(totals.max_missed_bytes / totals.max_missed_count);
  const bool is_size = size >= 1 && size < 0x1p53;  // not of what is no number
  if (!is_size) return std::nullopt;
  for (const uint64_t share : {uint64_t{1}, uint64_t{2}}) {
    const SampleKind kind{static_cast<uint64_t>(size), rate_bytes, share};
    const Totals one = totals_of(kind, 1);
    if (std::abs(one.max_missed_count - totals.max_missed_count) <= 1e-9 * totals.max_missed_count &&
        std::abs(one.max_missed_bytes - totals.max_missed_bytes) <= 1e-9 * totals.max_missed_bytes) {
      return kind;
    }
  }
  return std::nullopt;
}

void set_maxima(const SampleKind& smallest, Totals* totals) {
  const Totals one = totals_of(smallest, 1);
  totals->max_missed_bytes = one.max_missed_bytes;
  totals->max_missed_count = one.max_missed_count;
}

void restore_variance(Totals* totals) {
  constexpr double kMost = 0.249;  // its root is written as 0 again
  const double missed = totals->weight_count - static_cast<double>(totals->samples);
  if (totals->variance_count == 0 && missed > 0) totals->variance_count = std::min(missed, kMost);
}

Totals rounded(const Totals& totals, uint64_t rate_bytes) {
  if (const auto kind = kind_of(totals, rate_bytes)) return totals_of(*kind, totals.samples);
  Totals own = totals;
  own.variance_bytes = short_variance(totals.variance_bytes);
  own.variance_count = short_variance(totals.variance_count);
  restore_variance(&own);
  if (const auto smallest = smallest_of(totals, rate_bytes)) set_maxima(*smallest, &own);
  return own;
}

Totals without_variances(Totals totals) {
  totals.variance_bytes = totals.variance_count = 0;
  totals.max_missed_bytes = totals.max_missed_count = 0;
  return totals;
}

std::optional<SampleKind> freed_kind(const Totals& freed, uint64_t rate_bytes) {
  if (freed.samples == 0 || freed.size_bytes % freed.samples != 0) return std::nullopt;
  const SampleKind kind{freed.size_bytes / freed.samples, rate_bytes, 1};
  Totals whole = totals_of(kind, freed.samples);
  whole.weight_bytes = freed.weight_bytes;
  whole.weight_count = freed.weight_count;
  return kind_of(whole, rate_bytes) ? std::optional(kind) : std::nullopt;
}

bool stands_for_itself(const Lifetime& lifetime) {
  return lifetime.weight_bytes == static_cast<double>(lifetime.size_bytes) &&
         lifetime.weight_count == static_cast<double>(lifetime.samples);
}

namespace {

double float_share(double whole, uint64_t samples, uint64_t all) {
  const double share =
      samples == all ? whole : whole * static_cast<double>(samples) / static_cast<double>(all);
  return of_float_bits(float_bits(share));
}

// Two sums of the same numbers in another order, one of them a float.
bool is_near(double a, double b) {
  constexpr double kNear = 1e-6;
  return std::abs(a - b) <= kNear * std::max(std::abs(a), std::abs(b));
}

bool can_share(const Totals& all, uint64_t samples) {
  return samples != 0 && samples <= all.samples &&
         (samples == all.samples || all.size_bytes % all.samples == 0);
}

}  // namespace

Lifetime share_of(const Totals& freed, uint32_t lifetime_class, uint64_t samples) {
  Lifetime lifetime;
  lifetime.lifetime_class = lifetime_class;
  lifetime.samples = samples;
  lifetime.size_bytes =
      samples == freed.samples ? freed.size_bytes : freed.size_bytes / freed.samples * samples;
  lifetime.weight_bytes = float_share(freed.weight_bytes, samples, freed.samples);
  lifetime.weight_count = float_share(freed.weight_count, samples, freed.samples);
  return lifetime;
}

Birth share_of_births(const Totals& allocated, uint32_t part, uint64_t samples) {
  Birth birth;
  birth.part = part;
  birth.samples = samples;
  birth.weight_bytes = float_share(allocated.weight_bytes, samples, allocated.samples);
  birth.weight_count = float_share(allocated.weight_count, samples, allocated.samples);
  return birth;
}

bool follows(const Totals& freed, const Lifetime& lifetime) {
  if (!can_share(freed, lifetime.samples)) return false;
  const Lifetime share = share_of(freed, lifetime.lifetime_class, lifetime.samples);
  return share.size_bytes == lifetime.size_bytes && is_near(share.weight_bytes, lifetime.weight_bytes) &&
         is_near(share.weight_count, lifetime.weight_count);
}

bool follows(const Totals& allocated, const Birth& birth) {
  if (birth.samples == 0 || birth.samples > allocated.samples) return false;
  const Birth share = share_of_births(allocated, birth.part, birth.samples);
  return is_near(share.weight_bytes, birth.weight_bytes) && is_near(share.weight_count, birth.weight_count);
}

Lifetime alike(uint32_t lifetime_class, uint64_t samples, uint64_t size_bytes, uint64_t rate_bytes) {
  Lifetime lifetime;
  lifetime.lifetime_class = lifetime_class;
  lifetime.samples = samples;
  lifetime.size_bytes = size_bytes;
  const Totals whole = totals_of({size_bytes / samples, rate_bytes, 1}, samples);
  lifetime.weight_bytes = of_float_bits(float_bits(whole.weight_bytes));
  lifetime.weight_count = of_float_bits(float_bits(whole.weight_count));
  return lifetime;
}

bool is_alike(const Lifetime& lifetime, uint64_t rate_bytes) {
  if (lifetime.samples == 0 || lifetime.size_bytes == 0 || lifetime.size_bytes % lifetime.samples != 0) {
    return false;
  }
  const Lifetime all = alike(lifetime.lifetime_class, lifetime.samples, lifetime.size_bytes, rate_bytes);
  return is_near(all.weight_bytes, lifetime.weight_bytes) && is_near(all.weight_count, lifetime.weight_count);
}

bool is_same(const Totals& allocated, const Totals& freed) {
  return allocated.samples == freed.samples && allocated.size_bytes == freed.size_bytes &&
         allocated.weight_bytes == freed.weight_bytes && allocated.weight_count == freed.weight_count;
}

// Not inline: gcc 12 vectorizes a pair of conversions to float and back into none at -O2.
[[gnu::noinline]] uint32_t float_bits(double number) {
  const auto nearest = static_cast<float>(number);
  uint32_t bits = 0;
  std::memcpy(&bits, &nearest, sizeof(bits));
  return bits;
}

double of_float_bits(uint32_t bits) {
  float number = 0;
  std::memcpy(&number, &bits, sizeof(number));
  return static_cast<double>(number);
}

}  // namespace memprof::profile::packed
