// SPDX-License-Identifier: Apache-2.0
// Programs of known truth, simulated: blocks with exact times of birth and death, sampled as the engine does it,
// as the profile that the engine would write of them.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "format/birth.h"
#include "format/lifetime_class.h"
#include "profile/model/estimate.h"
#include "profile/model/stack_sum.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile::leak_simulation {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Times in seconds from the start of the program.
class Simulation {
 public:
  Simulation(double run_s, uint64_t rate_bytes, uint64_t seed)
      : random_(seed), run_s_(run_s), builder_(rate_bytes), rate_bytes_(rate_bytes) {
    builder_.profile().duration_ns = static_cast<uint64_t>(run_s * 1e9);
  }

  double run_s() const { return run_s_; }

  // A block that lives from `born` until `freed`.
  void block(const std::string& site, uint64_t size, double born, double freed = kNever) {
    if (born >= run_s_ || uniform(0, 1) >= sampling_probability(size, rate_bytes_)) return;
    const double p = sampling_probability(size, rate_bytes_);
    const auto bytes = static_cast<double>(size);
    Stack& stack = stack_of(site);
    Totals one;
    one.samples = 1;
    one.size_bytes = size;
    one.weight_bytes = bytes / p;
    one.weight_count = 1 / p;
    add_totals(one, &stack.allocated);
    if (freed < run_s_) {
      add_totals(one, &stack.freed);
      const auto lifetime_ns = static_cast<uint64_t>((freed - born) * 1e9);
      add_lifetimes({{0, lifetime_class(lifetime_ns), 1, size, bytes / p, 1 / p}}, &stack.lifetimes);
      return;
    }
    const auto part =
        birth_part(static_cast<uint64_t>(born * 1e9) + 1, 1, static_cast<uint64_t>(run_s_ * 1e9) + 1);
    add_births({{part, 1, bytes / p, 1 / p}}, &stack.births);
    for (LiveGroup& group : stack.live) {
      if (group.size_bytes == size) {
        ++group.samples;
        return;
      }
    }
    stack.live.push_back({size, rate_bytes_, 1});
  }

  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  double exponential(double mean) { return std::exponential_distribution<double>(1 / mean)(random_); }

  // Calls `event(time)` about `per_second` times a second, at random, from `from` until `until`.
  template <typename Event>
  void at_random(double per_second, double from, double until, const Event& event) {
    for (double t = from + exponential(1 / per_second); t < until; t += exponential(1 / per_second)) event(t);
  }

  Profile& profile() { return builder_.profile(); }

 private:
  Stack& stack_of(const std::string& site) {
    const auto [known, is_new] = stacks_.emplace(site, builder_.profile().stacks.size());
    if (is_new) {
      const uint32_t location = builder_.at(site, "program.cc", 1);
      Stack stack;
      stack.locations = {location};
      stack.has_statistics = true;
      builder_.profile().stacks.push_back(std::move(stack));
    }
    return builder_.profile().stacks[known->second];
  }

  std::mt19937_64 random_;
  double run_s_;
  report_fixture::Builder builder_;
  uint64_t rate_bytes_;
  std::map<std::string, size_t> stacks_;
};

}  // namespace memprof::profile::leak_simulation
