// SPDX-License-Identifier: Apache-2.0
// Estimate over truth, and how often the 95 % intervals hold the truth.
//
// Model: a program allocates known blocks; the engine's own sampler (core/sampling/sampler.h), seeded by the
// number of the run, says which are sampled; the engine's weights and the profile library's estimates do the
// rest. Every run counts in the ratio, also one without a sample; an interval is asked for when there is one,
// as a report does.  Ticks that cannot run out are taken together, which is the same subtraction.
//
// Each site is estimated twice: from its live samples one by one, and from running totals.
//
// usage: estimate [RUNS]
#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "core/sampling/sampler.h"
#include "core/sampling/weight.h"
#include "profile/model/estimate.h"
#include "program.h"

namespace memprof {
namespace {

using profile::Accumulator;
using profile::Metric;

constexpr uint64_t kRateBytes = 512 * 1024;

struct Blocks {
  uint64_t size_bytes;
  uint64_t count;
};

struct Site {
  char name[64];
  double expected_samples;
  bool is_large;  // has blocks larger than R
  std::vector<Blocks> blocks;
};

uint64_t spread(uint64_t z) {  // splitmix64
  z += 0x9e3779b97f4a7c15ull;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

void seed(uint64_t run) {
  // What the sampler would take from the kernel; mark 1 is what it compares with while there is no owner
  // mark.
  t_sampler = {};
  t_sampler.seed_mark = 1;
  t_sampler.random[0] = spread(2 * run);
  t_sampler.random[1] = spread(2 * run + 1);
  sampler_redraw();
}

// Allocates the blocks; calls sampled(size, rate) for those that are.
template <typename Sampled>
void allocate(const Blocks& blocks, const Sampled& sampled) {
  const uint64_t line = std::max<uint64_t>(blocks.size_bytes, 1);
  for (uint64_t left = blocks.count; left > 0;) {
    const uint64_t quiet = std::min(t_sampler.count / line, left);
    t_sampler.count -= quiet * line;
    left -= quiet;
    if (left > 0) {
      --left;
      if (sampler_tick(blocks.size_bytes)) {
        const SamplingEvent event = sampler_event(blocks.size_bytes);
        if (event.sampled) {
          sampled(blocks.size_bytes, event.rate_bytes);
        }
        sampler_resume(event);
      }
    }
  }
}

struct Tally {
  double sum = 0;
  double sum_of_squares = 0;
  uint64_t held = 0;  // intervals that held the truth
  uint64_t asked = 0;

  void add(const profile::Estimate& estimate, double truth, bool has_samples) {
    const double ratio = estimate.value / truth;
    sum += ratio;
    sum_of_squares += ratio * ratio;
    if (has_samples) {
      ++asked;
      // A report rounds to whole bytes and blocks.
      held += estimate.low - 0.5 <= truth && truth <= estimate.high + 0.5;
    }
  }
};

profile::Totals totals_of(const std::vector<profile::LiveGroup>& groups) {
  profile::Totals totals;
  for (const profile::LiveGroup& g : groups) {
    const Weight w = weigh(g.size_bytes, g.rate_bytes);
    const double missed = 1 - w.probability;
    const double n = static_cast<double>(g.samples);
    totals.samples += g.samples;
    totals.size_bytes += g.samples * g.size_bytes;
    totals.weight_bytes += n * w.bytes;
    totals.weight_count += n * w.count;
    totals.variance_bytes += n * missed * w.bytes * w.bytes;
    totals.variance_count += n * missed * w.count * w.count;
    totals.max_missed_bytes = std::max(totals.max_missed_bytes, missed * w.bytes);
    totals.max_missed_count = std::max(totals.max_missed_count, missed * w.count);
  }
  return totals;
}

void report(const Site& site, const char* what, const char* from, const Tally& t, uint64_t runs) {
  const double n = static_cast<double>(runs);
  const double mean = t.sum / n;
  const double variance = std::max(0.0, t.sum_of_squares / n - mean * mean);
  printf(
      "{\"site\": \"%s\", \"expected_samples\": %.1f, \"large\": %s, \"what\": \"%s\", \"from\": \"%s\", "
      "\"runs\": %llu, \"ratio\": %.6f, \"standard_error\": %.6f, \"coverage\": %.5f, \"asked\": %llu}\n",
      site.name, site.expected_samples, site.is_large ? "true" : "false", what, from,
      (unsigned long long)runs, mean, std::sqrt(variance / n),
      t.asked > 0 ? static_cast<double>(t.held) / static_cast<double>(t.asked) : 1,
      (unsigned long long)t.asked);
}

void measure(const Site& site, uint64_t runs, uint64_t first_run) {
  static const Metric kMetrics[] = {Metric::kInuseSpace, Metric::kInuseObjects, Metric::kAllocSpace,
                                    Metric::kAllocObjects};
  static const char* const kWhat[] = {"bytes", "blocks", "bytes", "blocks"};
  static const char* const kFrom[] = {"live samples", "live samples", "running totals", "running totals"};
  Tally tallies[4];
  double truth_bytes = 0;
  double truth_blocks = 0;
  for (const Blocks& b : site.blocks) {
    truth_bytes += static_cast<double>(b.size_bytes) * static_cast<double>(b.count);
    truth_blocks += static_cast<double>(b.count);
  }
  std::vector<profile::LiveGroup> groups;
  for (uint64_t run = 0; run < runs; ++run) {
    seed(first_run + run);
    groups.clear();
    for (const Blocks& b : site.blocks) {
      allocate(b, [&](uint64_t size, uint64_t rate) {
        if (groups.empty() || groups.back().size_bytes != size) {
          groups.push_back({size, rate, 0});
        }
        ++groups.back().samples;
      });
    }
    Accumulator sum;
    for (const profile::LiveGroup& g : groups) {
      sum.add_live(g);
    }
    if (!groups.empty()) {
      sum.add_allocated(totals_of(groups));
    }
    for (size_t i = 0; i < std::size(kMetrics); ++i) {
      tallies[i].add(sum.estimate(kMetrics[i]), i % 2 == 0 ? truth_bytes : truth_blocks, !groups.empty());
    }
  }
  for (size_t i = 0; i < std::size(kMetrics); ++i) {
    report(site, kWhat[i], kFrom[i], tallies[i], runs);
  }
}

double expected_samples(const std::vector<Blocks>& blocks) {
  double expected = 0;
  for (const Blocks& b : blocks) {
    expected += static_cast<double>(b.count) * weigh(b.size_bytes, kRateBytes).probability;
  }
  return expected;
}

Site site_of(const char* name, std::vector<Blocks> blocks) {
  Site site{};
  snprintf(site.name, sizeof(site.name), "%s", name);
  site.blocks = std::move(blocks);
  site.expected_samples = expected_samples(site.blocks);
  site.is_large = std::any_of(site.blocks.begin(), site.blocks.end(),
                              [](const Blocks& b) { return b.size_bytes > kRateBytes; });
  return site;
}

std::vector<Site> sites() {
  std::vector<Site> all;
  constexpr uint64_t kK = 1024;
  constexpr uint64_t kM = kK * kK;
  constexpr uint64_t kSizes[] = {1,        16,       64, 512,    4 * kK,  32 * kK,
                                 256 * kK, 512 * kK, kM, 4 * kM, 64 * kM, 1024 * kM};
  for (const uint64_t size : kSizes) {
    for (const double wanted : {1.0, 3.0, 10.0, 30.0, 100.0}) {
      const double probability = weigh(size, kRateBytes).probability;
      // Upwards: 10 blocks of R are 6 samples, and the rule for 10 is not meant for them.
      const uint64_t count = std::max<uint64_t>(1, static_cast<uint64_t>(std::ceil(wanted / probability)));
      char name[64];
      snprintf(name, sizeof(name), "%llu x %llu B", (unsigned long long)count, (unsigned long long)size);
      all.push_back(site_of(name, {{size, count}}));
    }
  }
  all.push_back(site_of("1 x 20 R + 6 R of 64 B", {{20 * kRateBytes, 1}, {64, 6 * kRateBytes / 64}}));
  all.push_back(site_of("10 x 2 R + 5 R of 100 B", {{2 * kRateBytes, 10}, {100, 5 * kRateBytes / 100}}));
  all.push_back(site_of("32 M x 16 B + 16 x 32 MB", {{16, 32 * kM}, {32 * kM, 16}}));
  std::vector<Blocks> logarithmic;
  for (double size = 16; size < 1.1e6; size *= 1.5) {  // as many bytes of each size
    const uint64_t s = static_cast<uint64_t>(size);
    logarithmic.push_back({s, std::max<uint64_t>(1, kRateBytes / s)});
  }
  all.push_back(site_of("16 B to 1 MB, R of each", logarithmic));
  for (Blocks& b : logarithmic) {
    b.count = 20;
  }
  all.push_back(site_of("16 B to 1 MB, 20 of each", logarithmic));
  return all;
}

}  // namespace
}  // namespace memprof

int main(int argc, char** argv) {
  const uint64_t runs = bench_argument(argc, argv, 1, 20000);
  memprof::sampler_set_rate(memprof::kRateBytes);
  uint64_t first_run = 1;
  for (const memprof::Site& site : memprof::sites()) {
    memprof::measure(site, runs, first_run);
    first_run += runs;
  }
  return 0;
}
