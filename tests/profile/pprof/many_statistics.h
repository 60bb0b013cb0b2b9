// SPDX-License-Identifier: Apache-2.0
// Statistics of many stacks, for packing.
#pragma once

#include "profile/pprof/packed_statistics.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/profile/sample_profile.h"

namespace memprof::profile {

inline std::vector<double> numbers(const Totals& t) {
  return {static_cast<double>(t.samples),
          static_cast<double>(t.size_bytes),
          t.weight_bytes,
          t.weight_count,
          t.variance_bytes,
          t.variance_count,
          t.max_missed_bytes,
          t.max_missed_count};
}

// Stacks of one size mostly, some of several, some without anything freed.
inline std::vector<IdentifiedStatistics> many(size_t count) {
  std::mt19937_64 random(7);
  std::vector<IdentifiedStatistics> stacks;
  for (size_t i = 0; i < count; ++i) {
    Stack stack;
    stack.walk = static_cast<Walk>(random() % kWalkReasons);
    const uint64_t size = uint64_t{8} << random() % 20;
    add_samples(stack.allocated, size, 1 + random() % 5);
    if (i % 16 == 0) add_samples(stack.allocated, size + 24, 3);
    if (i % 3 == 0) {
      add_samples(stack.freed, size, 1);
      stack.lifetime_ns = static_cast<double>(random() % 1000000000) * stack.freed.weight_count;
      stack.lifetimes.push_back({0, 3, 1, size, stack.freed.weight_bytes, stack.freed.weight_count});
      if (i % 2 == 0) stack.lifetimes.push_back({0, kLifetimeClasses - 1, 2, 16, 16, 2});
      // Live samples stand for more than at first.
      if (i % 12 == 0) stack.freed.weight_bytes = -1.5;
    }
    if (i % 5 == 0) stack.peak = stack.allocated;
    if (i % 20 == 0) stack.births = {{2, 1, 1e6 / 3, 1000}, {kBirthParts - 1, 4, 4096, 4}};
    if (i % 40 == 0) stack.load_births = {{0, 2, 1e6 / 7, 500}, {7, 3, 4096, 4}};
    stacks.push_back({random(), as_packed(stack, kTestRate)});
  }
  return stacks;
}

}  // namespace memprof::profile
