// SPDX-License-Identifier: Apache-2.0
// Classes of lifetimes: how long a block lived, on a scale of two steps a decade.  A histogram over them is
// small, and its mean, quantiles and "freed within 10 ms" follow from it.
//
//     class  0        1          2           3            4            ...  26          27
//     from   0        1 us       3 us        10 us        30 us             3e6 s       1e7 s (116 days)
//
// Threads, signals: pure.
#pragma once

#include <cstdint>

namespace memprof {

inline constexpr uint32_t kLifetimeClasses = 28;
inline constexpr uint32_t kLifetimeBounds = kLifetimeClasses - 1;

struct LifetimeScale {
  uint64_t bounds_ns[kLifetimeBounds];
};

constexpr LifetimeScale make_lifetime_scale() {
  LifetimeScale scale{};
  uint64_t decade_ns = 1000;
  for (uint32_t i = 0; i < kLifetimeBounds; ++i) {
    scale.bounds_ns[i] = i % 2 == 0 ? decade_ns : 3 * decade_ns;
    decade_ns *= i % 2 == 0 ? 1 : 10;
  }
  return scale;
}

// Class i holds lifetimes of bounds_ns[i - 1] and more, and less than bounds_ns[i].
inline constexpr LifetimeScale kLifetimeScale = make_lifetime_scale();

constexpr uint64_t lifetime_class_begin_ns(uint32_t index) {
  return index == 0 ? 0 : kLifetimeScale.bounds_ns[index - 1];
}

// Of the last class, which has no end, as if it had one.
constexpr uint64_t lifetime_class_end_ns(uint32_t index) {
  return index < kLifetimeBounds ? kLifetimeScale.bounds_ns[index]
                                 : 3 * kLifetimeScale.bounds_ns[kLifetimeBounds - 1];
}

// An octave has one bound at most, so the logarithm tells the class but for one comparison.
constexpr uint32_t lifetime_class(uint64_t lifetime_ns) {
  const auto octave = static_cast<uint32_t>(63 - __builtin_clzll(lifetime_ns | 1));
  // Bounds that are not above 2^octave: floor(2 log10(2) octave - 6) + 1, which a test checks against the table.
  const uint32_t min = octave < 10 ? 0 : (octave * 1233 >> 11) - 5;
  if (min >= kLifetimeBounds) {
    return kLifetimeBounds;
  }
  return min + (lifetime_ns >= kLifetimeScale.bounds_ns[min] ? 1 : 0);
}

// The mean of what a class holds, where as many are in each part of its logarithm.
constexpr double lifetime_class_mean_ns(uint32_t index) {
  constexpr double kMeanOverBegin[] = {1.9380, 1.8205};  // (b - a) / ln(b / a) over a: 3 to 10, and 1 to 3
  return index == 0 ? 0.5 * static_cast<double>(lifetime_class_end_ns(0))
                    : kMeanOverBegin[index % 2] * static_cast<double>(lifetime_class_begin_ns(index));
}

// What was freed of one stack after a time of one class.
struct Lifetime {
  uint32_t stack_id = 0;  // in a snapshot; elsewhere 0
  uint32_t lifetime_class = 0;
  uint64_t samples = 0;
  uint64_t size_bytes = 0;
  double weight_bytes = 0;
  double weight_count = 0;
};

// How many classes from the first one on are "younger than that": those that end at the bound which is next to
// it, on the scale of classes.  0 (nothing is) only for 0.
constexpr uint32_t lifetime_classes_within(uint64_t lifetime_ns) {
  if (lifetime_ns == 0) {
    return 0;
  }
  const uint32_t index = lifetime_class(lifetime_ns);
  if (index == 0 || index >= kLifetimeBounds) {
    return index == 0 ? 1 : kLifetimeBounds;
  }
  // Which bound has the smaller ratio to it.
  const auto time = static_cast<double>(lifetime_ns);
  const double begin = static_cast<double>(lifetime_class_begin_ns(index));
  const double end = static_cast<double>(lifetime_class_end_ns(index));
  return time * time < begin * end ? index : index + 1;
}

// Sums over the samples of the first `within` classes of a stack, as far as what is kept of them tells:
// `allocated` are the sums over all samples of the stack, of which they are a part.
//
// The most that a sample of them missed is at most what one of all missed; where they are all of one size,
// which the weights tell, it is their mean.  The variance is taken as their share of all.
//
// Totals: with the members of memprof_totals.
template <typename Totals>
Totals younger_totals(const Totals& allocated, const Lifetime* lifetimes, uint64_t count, uint32_t within) {
  Totals sum{};
  for (uint64_t i = 0; i < count; ++i) {
    if (lifetimes[i].lifetime_class < within) {
      sum.samples += lifetimes[i].samples;
      sum.size_bytes += lifetimes[i].size_bytes;
      sum.weight_bytes += lifetimes[i].weight_bytes;
      sum.weight_count += lifetimes[i].weight_count;
    }
  }
  const auto samples = static_cast<double>(sum.samples);
  const auto size = static_cast<double>(sum.size_bytes);
  const double missed_count = sum.weight_count - samples;
  const double missed_bytes = sum.weight_bytes - size;
  if (sum.samples == 0) return sum;
  if (!(missed_count > 0)) {
    // Large blocks: what remains to be said is the rate that they were sampled at.
    sum.max_missed_bytes = allocated.max_missed_bytes;
    sum.max_missed_count = allocated.max_missed_count;
    return sum;
  }
  const auto share = [](double part, double whole) { return part < whole ? part / whole : 1.0; };
  sum.variance_bytes = allocated.variance_bytes * share(sum.weight_bytes, allocated.weight_bytes);
  sum.variance_count = allocated.variance_count * share(sum.weight_count, allocated.weight_count);
  constexpr double kRounding = 1e-6;  // weights travel with as many digits
  const double unlike = size > 0 ? sum.weight_bytes * samples / (size * sum.weight_count) - 1 : 0;
  if (-kRounding <= unlike && unlike <= kRounding) {
    sum.max_missed_count = missed_count / samples;
    sum.max_missed_bytes = size / samples * sum.max_missed_count;
    return sum;
  }
  const auto at_least = [](double max, double mean) { return max > mean ? max : mean; };
  sum.max_missed_bytes = at_least(allocated.max_missed_bytes, missed_bytes / samples);
  sum.max_missed_count = at_least(allocated.max_missed_count, missed_count / samples);
  return sum;
}

}  // namespace memprof
