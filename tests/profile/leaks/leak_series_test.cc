// SPDX-License-Identifier: Apache-2.0
// Verdicts on series: simulated programs of known truth that are looked at many times.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/compare/merge.h"
#include "profile/leaks/leaks.h"
#include "tests/profile/leaks/simulation.h"

namespace memprof::profile::leak_series_test {
namespace {

using leak_simulation::kNever;
using leak_simulation::Simulation;

constexpr uint64_t kRate = 512 * 1024;
constexpr double kRun = 600;
constexpr uint64_t kStart = 1'700'000'000'000'000'000;

struct Block {
  std::string site;
  uint64_t size;
  double born;
  double freed;
};

// All blocks of a process that begins at `begin`; their times count from there.
struct Process {
  std::vector<Block> blocks;
  uint64_t pid = 4711;
  double begin = 0;
  double end = kNever;
};

// What a look after `now` seconds says of a process.  A block is sampled in all looks or in none.
Profile profile_of(const Process& process, double now, uint64_t seed) {
  Simulation simulation(now - process.begin, kRate, seed);
  for (const Block& block : process.blocks) {
    simulation.block(block.site, block.size, block.born, block.freed);
  }
  Profile profile = simulation.profile();
  profile.pid = process.pid;
  profile.time_unix_ns = kStart + static_cast<uint64_t>(now * 1e9);
  return profile;
}

void sort_by_birth(Process* process) {
  std::sort(process->blocks.begin(), process->blocks.end(), [](const Block& a, const Block& b) {
    return std::tie(a.born, a.site, a.freed) < std::tie(b.born, b.site, b.freed);
  });
}

std::vector<NamedProfile> looks_of(std::vector<Process> processes, uint64_t seed, int count = 24,
                                   double from = 0, double until = kRun) {
  for (Process& process : processes) sort_by_birth(&process);
  std::vector<NamedProfile> looks;
  for (int i = 1; i <= count; ++i) {
    const double now = from + (until - from) * i / count;
    Merger merger;
    for (const Process& process : processes) {
      if (process.begin < now && now < process.end) merger.add(profile_of(process, now, seed + process.pid));
    }
    looks.push_back({"look " + std::to_string(i), merger.take()});
  }
  return looks;
}

Leaks leaks_of(const std::vector<NamedProfile>& looks, const std::string& process = "") {
  LeakOptions options;
  options.are_of_a_series = true;
  if (!process.empty()) options.filter.process = Pattern(process);
  return find_leaks(looks, options);
}

const LeakRow* row_of(const Leaks& leaks, const std::string& name) {
  const auto row = std::find_if(leaks.rows.begin(), leaks.rows.end(),
                                [&](const LeakRow& one) { return one.place.name == name; });
  return row == leaks.rows.end() ? nullptr : &*row;
}

std::string verdict_of(const Leaks& leaks, const std::string& name) {
  const LeakRow* row = row_of(leaks, name);
  return row == nullptr ? "nothing" : verdict_name(row->verdict);
}

class Random {
 public:
  explicit Random(uint64_t seed) : random_(seed) {}
  double uniform(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }
  double exponential(double mean) { return std::exponential_distribution<double>(1 / mean)(random_); }
  // Times of events, about so many a second.
  std::vector<double> times(double per_second, double from, double until) {
    std::vector<double> times;
    for (double t = from + exponential(1 / per_second); t < until; t += exponential(1 / per_second)) {
      times.push_back(t);
    }
    return times;
  }

 private:
  std::mt19937_64 random_;
};

void add_leak(Process* process, double per_second, double from, Random* random) {
  for (const double t : random->times(per_second, from, kRun)) {
    process->blocks.push_back({"leak", 500'000, t, kNever});
  }
}

// At its level from the start on: each block lives about `mean` seconds.
void add_level(Process* process, double held, double mean, Random* random) {
  for (int i = 0; i < held; ++i) process->blocks.push_back({"level", 500'000, 0, random->exponential(mean)});
  for (const double t : random->times(held / mean, 0, kRun)) {
    process->blocks.push_back({"level", 500'000, t, t + random->exponential(mean)});
  }
}

TEST(LeakSeries, a_leak_is_found_and_a_level_is_not) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    Random random(seed);
    Process process;
    add_leak(&process, 1, 0, &random);
    add_level(&process, 200, 5, &random);
    const Leaks leaks = leaks_of(looks_of({process}, seed));
    EXPECT_EQ(leaks.profiles, 24u);
    EXPECT_TRUE(leaks.are_looks);
    EXPECT_EQ(leaks.judged, "look 24");
    EXPECT_EQ(leaks.judged_unix_ns, kStart + static_cast<uint64_t>(kRun * 1e9));
    EXPECT_EQ(verdict_of(leaks, "leak"), "leak");
    EXPECT_EQ(verdict_of(leaks, "level"), "level");
    const LeakRow* row = row_of(leaks, "leak");
    ASSERT_TRUE(row != nullptr && row->slope);
    // 30 MB a minute, of 60 % of 300 blocks in the later half: 8 standard deviations.
    EXPECT_NEAR(row->slope->bytes_per_minute, 30e6, 18e6);
    EXPECT_LT(row->slope->low, 30e6);
  }
}

// From one profile it is unknown: it begins at 45 % of the run.
TEST(LeakSeries, the_looks_tell_of_a_leak_that_began_late) {
  Random random(1);
  Process process;
  add_leak(&process, 1, 0.45 * kRun, &random);
  const auto looks = looks_of({process}, 1);
  EXPECT_EQ(verdict_of(leaks_of({looks.back()}), "leak"), "unknown");
  EXPECT_EQ(verdict_of(leaks_of(looks), "leak"), "leak");
}

// Looks that are close together have mostly the same blocks.  What lives long and is at its level drifts, and a line
// through 12 such looks is straight by chance.
TEST(LeakSeries, what_drifts_at_its_level_is_not_accused) {
  int accused = 0;
  int rising = 0;
  int runs = 0;
  for (const double mean : {kRun / 8, kRun / 4, kRun / 2}) {
    for (const double held : {10.0, 40.0}) {
      for (uint64_t seed = 1; seed <= 40; ++seed, ++runs) {
        Random random(seed);
        Process process;
        add_level(&process, held, mean, &random);
        const Leaks leaks = leaks_of(looks_of({process}, seed));
        accused += leaks.suspects != 0 ? 1 : 0;
        const LeakRow* row = row_of(leaks, "level");
        rising += row != nullptr && row->slope && row->slope->low > 0 ? 1 : 0;
      }
    }
  }
  if (std::getenv("LEAKS_TALK") != nullptr) printf("accused %d, rising %d of %d\n", accused, rising, runs);
  EXPECT_LE(accused, 2);  // of 240
  EXPECT_LE(rising, 12);  // with odds of 2.5 % each; by Student's interval alone 47 of them rise
}

// A line through the looks rises, and yet it is about to end.
TEST(LeakSeries, what_is_about_to_end_is_seldom_accused) {
  int accused = 0;
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    Random random(seed);
    Process turns_over;
    for (const double t : random.times(0.4, 0, kRun)) {
      turns_over.blocks.push_back({"push", 3'000'000, t, t + 0.95 * kRun});
    }
    Process half_filled;
    for (int key = 0; key < 200; ++key) {
      half_filled.blocks.push_back({"insert", 3'000'000, random.exponential(kRun / 2), kNever});
    }
    for (const Process& process : {turns_over, half_filled}) {
      accused += leaks_of(looks_of({process}, seed)).suspects != 0 ? 1 : 0;
    }
  }
  if (std::getenv("LEAKS_TALK") != nullptr) printf("about to end: accused %d of 40\n", accused);
  EXPECT_LE(accused, 3);
}

// A process that leaks a block each ten seconds, and a series of six seconds without one.
TEST(LeakSeries, a_short_series_does_not_clear_a_leak) {
  Process process;
  for (double t = 3; t < kRun; t += 10) process.blocks.push_back({"leak", 3'000'000, t, kNever});
  const auto looks = looks_of({process}, 3, 20, kRun - 6);
  EXPECT_EQ(verdict_of(leaks_of({looks.back()}), "leak"), "leak");
  const Leaks leaks = leaks_of(looks);
  EXPECT_EQ(verdict_of(leaks, "leak"), "leak");
  EXPECT_EQ(row_of(leaks, "leak")->slope->bytes_per_minute, 0);
}

// Each worker reads its tables when it begins.  More workers are more tables, and no leak.
TEST(LeakSeries, processes_that_begin_are_no_growth) {
  std::vector<Process> processes(7);
  for (size_t i = 0; i < processes.size(); ++i) {
    processes[i].pid = 100 + i;
    processes[i].begin = i == 0 ? 0 : kRun * (0.3 + 0.1 * static_cast<double>(i));
    Random random(i);
    for (int table = 0; table < 40; ++table) {
      processes[i].blocks.push_back({"load_tables", 500'000, random.uniform(0, 100), kNever});
    }
    processes[i].end = i == 3 ? 0.8 * kRun : kNever;
  }
  const Leaks leaks = leaks_of(looks_of(processes, 1));
  EXPECT_EQ(leaks.suspects, 0u);
  const LeakRow* row = row_of(leaks, "load_tables");
  ASSERT_NE(row, nullptr);
  EXPECT_FALSE(row->slope);
}

TEST(LeakSeries, one_process_of_several_is_judged_while_it_was_there) {
  Random random(1);
  std::vector<Process> processes(2);
  processes[0].pid = 100;
  add_level(&processes[0], 100, 5, &random);
  processes[1].pid = 200;
  processes[1].end = 0.8 * kRun;
  // Both at one place: the processes run one program.
  add_leak(&processes[1], 1, 0, &random);
  for (Block& block : processes[1].blocks) block.site = "level";
  const auto looks = looks_of(processes, 1);
  const Leaks whole = leaks_of(looks);
  EXPECT_EQ(whole.judged, "look 24");
  EXPECT_EQ(verdict_of(whole, "level"), "level");
  const Leaks leaking = leaks_of(looks, " 200$");
  EXPECT_EQ(leaking.judged, "look 19");
  EXPECT_EQ(leaking.profiles, 19u);
  EXPECT_EQ(verdict_of(leaking, "level"), "leak");
  EXPECT_EQ(verdict_of(leaks_of(looks, " 100$"), "level"), "level");
}

}  // namespace
}  // namespace memprof::profile::leak_series_test
