// SPDX-License-Identifier: Apache-2.0
// A small profile that the tests of src/profile share, and sums as the engine makes them.
#pragma once

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "profile/model/estimate.h"
#include "profile/model/model.h"
#include "profile/model/sample_kind.h"

namespace memprof::profile {

inline constexpr uint64_t kTestRate = 524288;

// Adds `samples` samples of one size to totals, as the engine does.
template <typename AnyTotals>
void add_samples(AnyTotals& totals, uint64_t size, uint64_t samples, uint64_t rate = kTestRate) {
  const SampleKind kind{size, rate};
  const double probability = kind.probability();
  const double count = 1 / probability;
  const double bytes = static_cast<double>(size) / probability;
  for (uint64_t i = 0; i < samples; ++i) {
    totals.samples += 1;
    totals.size_bytes += size;
    totals.weight_count += count;
    totals.weight_bytes += bytes;
    totals.variance_count += (1 - probability) * count * count;
    totals.variance_bytes += (1 - probability) * bytes * bytes;
    totals.max_missed_count = std::max(totals.max_missed_count, kind.missed());
    totals.max_missed_bytes = std::max(totals.max_missed_bytes, static_cast<double>(size) * kind.missed());
  }
}

// A model with names, inlined functions, files, labels of the engine's kind and statistics.
inline Profile named_profile() {
  Profile profile;
  profile.program = "server";
  profile.pid = 42;
  profile.rate_bytes = kTestRate;
  profile.time_unix_ns = 1700000000000000000;
  profile.duration_ns = 1000000;
  profile.from_memprof = true;
  profile.samples = 12;
  profile.live_samples = 9;
  profile.walks = {11, 1, 0, 0, 0};
  profile.has_metric = {true, true, true, true, true, true};
  profile.peak_after_ns = 500000;
  profile.mappings = {{0x400000, 0x500000, 0x1000, "/bin/server", "abcdef01", true, true, true, true},
                      {0x7f0000000000, 0x7f0000200000, 0, "/lib/libc.so.6", "", false, false, false, false}};
  profile.functions = {{"main", "main", "/src/main.cc", 10},
                       {"ns::make<int; char>(int)", "_ZN2ns4makeIicEEvi", "/src/make.h", 0},
                       {"inner", "inner", "/src/make.h", 5}};
  profile.locations = {{0x401234, 0, false, {{2, 7}, {1, 30}}},  // inner, inlined into make
                       {0x402000, 0, false, {{0, 12}}},
                       {0x7f0000001000, 1, false, {}},
                       {0x12345, kNoMapping, false, {}}};
  Stack first;
  first.locations = {0, 1, 2};  // leaf first
  first.has_statistics = true;
  first.live = {{64, kTestRate, 5}, {4096, kTestRate, 3}};
  add_samples(first.allocated, 64, 6);
  add_samples(first.allocated, 4096, 3);
  add_samples(first.freed, 64, 1);
  first.freed.variance_bytes = first.freed.variance_count = 0;
  first.freed.max_missed_bytes = first.freed.max_missed_count = 0;
  add_samples(first.peak, 64, 4);
  first.lifetime_ns = 5e6;
  first.lifetimes = {{0, lifetime_class(2000000), first.freed.samples, first.freed.size_bytes,
                      static_cast<float>(first.freed.weight_bytes),
                      static_cast<float>(first.freed.weight_count)}};
  first.births = {{0, 5, 1.5e6, 25000}, {15, 3, 1.5e6, 375}};
  Stack second;
  second.locations = {3, 1};
  second.has_statistics = true;
  second.walk = Walk::kDepthLimit;
  second.live = {{3 << 20, kTestRate, 1}};
  add_samples(second.allocated, 3 << 20, 3);
  profile.stacks = {first, second};
  profile.comments = {"built by a test"};
  return profile;
}

}  // namespace memprof::profile
