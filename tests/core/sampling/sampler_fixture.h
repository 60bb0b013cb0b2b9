// SPDX-License-Identifier: Apache-2.0
// A thread with a clock of its own.
#pragma once

#include "core/sampling/sampler.h"

#include <gtest/gtest.h>

#include "tests/support/engine.h"

namespace memprof::sampler_test {

using testing_support::seed_sampler;

inline constexpr uint64_t kMuted = uint64_t{1} << 63;
constexpr uint64_t kEventCount = uint64_t{1} << 24;

class Sampler : public ::testing::Test {
 protected:
  void SetUp() override {
    sampler_set_mark(nullptr);
    sampler_set_rate(kDefaultRateBytes);
    seed_sampler(42);
  }
  void TearDown() override {
    sampler_set_mark(nullptr);
    sampler_set_rate(kDefaultRateBytes);
    t_sampler = {};
  }
};

}  // namespace memprof::sampler_test
