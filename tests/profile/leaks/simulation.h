// SPDX-License-Identifier: Apache-2.0
// Programs of known truth, simulated: blocks with exact times of birth and death, sampled as the engine does it,
// as the profile that the engine would write of them.
#pragma once

#include <algorithm>
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
#include "format/load/load_clock.h"
#include "profile/model/estimate.h"
#include "profile/model/stack_sum.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile::leak_simulation {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// Times in seconds from the start of the program.  After `run_s` it is idle for `idle_s`: nobody waits for that.
class Simulation {
 public:
  Simulation(double run_s, uint64_t rate_bytes, uint64_t seed, double idle_s = 0)
      : random_(seed), run_s_(run_s), all_s_(run_s + idle_s), builder_(rate_bytes), rate_bytes_(rate_bytes) {
    builder_.profile().duration_ns = static_cast<uint64_t>(all_s_ * 1e9);
    builder_.profile().rate_bytes = rate_bytes;
  }

  double run_s() const { return run_s_; }
  double all_s() const { return all_s_; }

  // A block that lives from `born` until `freed`; who would be freed while the program is idle is not.
  void block(const std::string& site, uint64_t size, double born, double freed = kNever) {
    if (born >= run_s_) return;
    any_block(site, size, born, freed < run_s_ ? freed : kNever);
  }

  // The same, also of what is done while it is idle.
  void any_block(const std::string& site, uint64_t size, double born, double freed = kNever) {
    if (born >= all_s_ || uniform(0, 1) >= sampling_probability(size, rate_bytes_)) return;
    const double p = sampling_probability(size, rate_bytes_);
    const auto bytes = static_cast<double>(size);
    Stack& stack = stack_of(site);
    Totals one;
    one.samples = 1;
    one.size_bytes = size;
    one.weight_bytes = bytes / p;
    one.weight_count = 1 / p;
    add_totals(one, &stack.allocated);
    births_.push_back({born, one.weight_bytes, freed < all_s_ ? kFreed : stacks_.at(site), one.weight_count});
    if (freed < all_s_) {
      add_totals(one, &stack.freed);
      const auto lifetime_ns = static_cast<uint64_t>((freed - born) * 1e9);
      add_lifetimes({{0, lifetime_class(lifetime_ns), 1, size, bytes / p, 1 / p}}, &stack.lifetimes);
      return;
    }
    const auto part =
        birth_part(static_cast<uint64_t>(born * 1e9) + 1, 1, static_cast<uint64_t>(all_s_ * 1e9) + 1);
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

  // Of all that there was by now.
  Profile& profile() {
    count_load();
    return builder_.profile();
  }

 private:
  static constexpr size_t kFreed = SIZE_MAX;
  struct BornBlock {
    double born;
    double bytes;
    size_t stack;  // kFreed: it does not live
    double blocks;

    double counted() const { return std::min(bytes, 1048576.0); }  // load_log::counted_bytes()
  };

  // As the engine does it: marks while blocks are born, and the births of what lives by what they say.
  void count_load() {
    std::sort(births_.begin(), births_.end(),
              [](const BornBlock& a, const BornBlock& b) { return a.born < b.born; });
    std::vector<double> marks;
    double step = 16384;
    double bytes = 0;
    for (const BornBlock& block : births_) {
      bytes += block.counted();
      while (static_cast<double>(marks.size() + 1) * step <= bytes) {
        if (marks.size() < kLoadMarks) {
          marks.push_back(block.born * 1e9);
          continue;
        }
        for (size_t i = 0; i < kLoadMarks / 2; ++i) marks[i] = marks[2 * i + 1];
        marks.resize(kLoadMarks / 2);
        step *= 2;
      }
    }
    LoadMarks read;
    read.bytes = static_cast<uint64_t>(bytes);
    read.step_bytes = static_cast<uint64_t>(step);
    read.count = static_cast<uint32_t>(marks.size());
    std::copy(marks.begin(), marks.end(), read.at_ns);
    read.end_ns = builder_.profile().duration_ns;
    read.rate_bytes = rate_bytes_;
    LoadClock clock(read);
    for (const BornBlock& block : births_) {
      if (block.stack != kFreed) clock.add_live(static_cast<uint64_t>(block.born * 1e9), block.counted());
    }
    const LoadTimes times = clock.times();
    for (Stack& stack : builder_.profile().stacks) stack.load_births.clear();
    builder_.profile().load = {};
    if (!times.is_known() || !times.differs_from_time(read.end_ns)) return;
    builder_.profile().load = times;
    for (const BornBlock& block : births_) {
      if (block.stack == kFreed) continue;
      const uint32_t part = times.part_of(static_cast<uint64_t>(block.born * 1e9));
      add_births({{part, 1, block.bytes, block.blocks}}, &builder_.profile().stacks[block.stack].load_births);
    }
  }

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
  double all_s_;
  report_fixture::Builder builder_;
  uint64_t rate_bytes_;
  std::map<std::string, size_t> stacks_;
  std::vector<BornBlock> births_;
};

}  // namespace memprof::profile::leak_simulation
