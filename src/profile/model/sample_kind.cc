// SPDX-License-Identifier: Apache-2.0
#include "profile/model/sample_kind.h"

#include <algorithm>
#include <cmath>

#include "estimate/math.h"
#include "profile/model/estimate.h"

namespace memprof::profile {
namespace {

bool is_near(double a, double b) {
  return std::abs(a - b) <= 1e-12 * std::max(std::abs(a), std::abs(b));
}

bool are_of_kind(const Totals& totals, const SampleKind& kind) {
  const auto samples = static_cast<double>(totals.samples);
  const double blocks = samples / kind.probability();
  return is_near(totals.weight_count, blocks) &&
         is_near(totals.weight_bytes, blocks * static_cast<double>(kind.size_bytes)) &&
         std::abs(totals.max_missed_count - kind.missed()) <= 1e-6 * kind.missed();
}

}  // namespace

double SampleKind::probability() const {
  return sampling_probability(size_bytes, rate_bytes) / static_cast<double>(share);
}

double SampleKind::missed() const {
  if (rate_bytes <= 1) return static_cast<double>(share) - 1;
  const uint64_t clock_bytes = std::max<uint64_t>(size_bytes, 1);
  const double beside = missed_beside(static_cast<double>(clock_bytes) / static_cast<double>(rate_bytes));
  return static_cast<double>(share - 1) + static_cast<double>(share) * beside;
}

std::optional<SampleKind> kind_of(const Totals& totals, uint64_t rate_bytes) {
  if (totals.samples == 0 || totals.size_bytes % totals.samples != 0) return std::nullopt;
  for (const uint64_t share : {uint64_t{1}, uint64_t{2}}) {
    const SampleKind kind{totals.size_bytes / totals.samples, rate_bytes, share};
    if (are_of_kind(totals, kind)) return kind;
  }
  return std::nullopt;
}

Totals totals_of(const SampleKind& kind, uint64_t samples) {
  const double p = kind.probability();
  const auto size = static_cast<double>(kind.size_bytes);
  const auto count = static_cast<double>(samples);
  Totals totals;
  totals.samples = samples;
  totals.size_bytes = samples * kind.size_bytes;
  totals.weight_count = count / p;
  totals.weight_bytes = totals.weight_count * size;
  totals.variance_count = totals.weight_count * (1 - p) / p;
  totals.variance_bytes = totals.variance_count * size * size;
  totals.max_missed_count = samples == 0 ? 0 : kind.missed();
  totals.max_missed_bytes = totals.max_missed_count * size;
  return totals;
}

}  // namespace memprof::profile
