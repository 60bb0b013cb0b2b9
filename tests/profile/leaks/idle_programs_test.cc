// SPDX-License-Identifier: Apache-2.0
// Verdicts on programs that work for four seconds, and then wait: 40 seeds of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "profile/leaks/leaks.h"
#include "tests/profile/leaks/simulation.h"

namespace memprof::profile::idle_programs_test {
namespace {

using leak_simulation::kNever;
using leak_simulation::Simulation;
using Verdicts = std::set<LeakVerdict>;

constexpr int kSeeds = 40;
constexpr uint64_t kRate = 64 * 1024;
constexpr double kBusy = 4;
constexpr double kIdleTimes[] = {0, 1, 10, 100};

struct Program {
  const char* name;
  std::function<void(Simulation&)> run;  // `remember` is what is asked
  Verdicts right;
  double first_idle_s = 0;  // before that it is still doing it
};

// What a request leaves behind within a moment, so many times a second.
void requests(Simulation& s, double from, double until, double per_second = 800) {
  s.at_random(per_second, from, until, [&](double t) {
    for (int i = 0; i < 5; ++i) s.block("handle", 10'000, t, t + s.exponential(0.001));
  });
}

void leak(Simulation& s) {
  requests(s, 0, kBusy);
  s.at_random(800, 0, kBusy, [&](double t) { s.block("remember", 4'096, t); });
}

// By day 800 requests a second, by night 100; 1 in 10 leaves something.
void leak_by_night(Simulation& s) {
  for (const auto& [from, until, per_second] : {std::tuple(0.0, 1.0, 800.0), std::tuple(1.0, 2.5, 100.0),
                                                std::tuple(2.5, 3.0, 800.0), std::tuple(3.0, 4.0, 100.0)}) {
    requests(s, from, until, per_second);
    s.at_random(per_second, from, until, [&](double t) { s.block("remember", 4'096, t); });
  }
}

// What goes on whatever there is to do: a thousandth of the load.
void leak_with_a_heartbeat(Simulation& s) {
  leak(s);
  s.at_random(4, kBusy, s.all_s(), [&](double t) { s.any_block("heartbeat", 5'000, t, t + 0.01); });
}

void cache_that_fills(Simulation& s) {
  requests(s, 0, kBusy);
  for (int key = 0; key < 2000; ++key) s.block("remember", 4'096, s.exponential(kBusy / 6));
}

void cache_with_a_limit(Simulation& s) {
  requests(s, 0, kBusy);
  s.at_random(1200, 0, 0.5 * kBusy, [&](double t) { s.block("remember", 4'096, t); });
}

// Each goes when 600 others came.
void lru(Simulation& s) {
  requests(s, 0, kBusy);
  s.at_random(800, 0, kBusy, [&](double t) { s.block("remember", 4'096, t, t + 0.75); });
}

void warm_up_and_load(Simulation& s) {
  s.at_random(8000, 0, 0.3, [&](double t) { s.block("remember", 4'096, t); });
  requests(s, 0.3, kBusy);
}

void warm_up_alone(Simulation& s) {
  s.at_random(1000, 0, kBusy, [&](double t) { s.block("remember", 4'096, t); });
}

// Half of what it allocates is garbage.
void table_from_text(Simulation& s) {
  s.at_random(800, 0, kBusy, [&](double t) {
    s.block("parse", 3'000, t, t + s.exponential(0.001));
    s.block("remember", 4'096, t);
  });
}

void model(Simulation& s) {
  requests(s, 0, kBusy);
  for (int i = 0; i < 40; ++i) s.block("remember", 1'000'000, s.uniform(2, 2.1));
}

const Verdicts kStays = {LeakVerdict::kFilled, LeakVerdict::kStart};

const Program kPrograms[] = {
    {"leak", leak, {LeakVerdict::kLeak}},
    {"leak by day and night", leak_by_night, {LeakVerdict::kLeak}},
    {"leak with a heartbeat", leak_with_a_heartbeat, {LeakVerdict::kLeak}},
    {"cache that fills", cache_that_fills, kStays},
    {"cache with a limit", cache_with_a_limit, kStays},
    {"LRU at its level", lru, {LeakVerdict::kLevel}},
    {"warm-up, then load", warm_up_and_load, kStays},
    {"model that is loaded", model, {LeakVerdict::kOnce}},
    // While it does nothing else, it grows.
    {"warm-up alone", warm_up_alone, {LeakVerdict::kFilled, LeakVerdict::kStart, LeakVerdict::kUnknown}, 1},
    {"table from text",
     table_from_text,
     {LeakVerdict::kFilled, LeakVerdict::kStart, LeakVerdict::kUnknown},
     1},
};

TEST(IdlePrograms, verdicts_are_right_whatever_the_idle_time) {
  for (const Program& program : kPrograms) {
    for (const double idle_s : kIdleTimes) {
      if (idle_s < program.first_idle_s) continue;
      int right = 0;
      std::string found;
      for (int seed = 1; seed <= kSeeds; ++seed) {
        Simulation simulation(kBusy, kRate, static_cast<uint64_t>(seed), idle_s);
        program.run(simulation);
        const Leaks leaks = find_leaks({{"simulated", simulation.profile()}});
        std::string verdict = "nothing";
        for (const LeakRow& row : leaks.rows) {
          const bool is_asked = row.place.name == "remember";
          if (is_asked) verdict = verdict_name(row.verdict);
          if (is_asked && program.right.count(row.verdict) != 0) ++right;
          EXPECT_TRUE(row.verdict != LeakVerdict::kLeak ||
                      (is_asked && program.right.count(LeakVerdict::kLeak) != 0))
              << program.name << ", idle " << idle_s << " s, seed " << seed << ": " << row.place.name;
        }
        found += " " + verdict;
        if (program.right.count(LeakVerdict::kLevel) != 0) {
          EXPECT_NEAR(leaks.idle_ns(), idle_s * 1e9, 0.1 * kBusy * 1e9) << seed;
        }
      }
      EXPECT_GE(right, kSeeds * 95 / 100) << program.name << ", idle " << idle_s << " s:" << found;
      if (std::getenv("LEAKS_TALK") != nullptr)
        printf("%-24s idle %3.0f s: %d of %d%s\n", program.name, idle_s, right, kSeeds, found.c_str());
    }
  }
}

// What it keeps in that time, and with each block one that is garbage at once.
void keep(Simulation& s, double from, double until) {
  for (int i = 0; i < 8000; ++i) {
    const double t = s.uniform(from, until);
    s.any_block("table", 4'096, t);
    s.any_block("table", 1'000, t, t + s.exponential(1e-5));
  }
}

struct Judged {
  std::string verdicts;
  std::map<LeakVerdict, int> numbers;
  int idle = 0;  // so often the process was called that
};

Judged judge_table(const std::function<void(Simulation&)>& run) {
  constexpr double kAfter = 8;
  Judged judged;
  for (int seed = 1; seed <= kSeeds; ++seed) {
    Simulation simulation(kBusy, kRate, static_cast<uint64_t>(seed), kAfter);
    run(simulation);
    const Leaks leaks = find_leaks({{"simulated", simulation.profile()}});
    EXPECT_TRUE(leaks.load.is_known()) << seed;
    judged.idle += leaks.idle_ns() > 0 ? 1 : 0;
    for (const LeakRow& row : leaks.rows) {
      if (row.place.name != "table") continue;
      judged.verdicts += std::string(" ") + verdict_name(row.verdict);
      ++judged.numbers[row.verdict];
    }
  }
  return judged;
}

// Its garbage lives for a moment, and what it keeps was born in the last part of the load: that is no turnover.
TEST(IdlePrograms, what_is_kept_in_the_last_moment_is_no_level) {
  Judged judged = judge_table([](Simulation& s) {
    requests(s, 0, kBusy, 4000);
    keep(s, kBusy + 2, kBusy + 2.4);
  });
  EXPECT_GE(judged.numbers[LeakVerdict::kOnce], kSeeds * 95 / 100) << judged.verdicts;
  EXPECT_EQ(judged.idle, kSeeds);
}

// A script that works on with less garbage than before, and keeps nearly all that lives.
TEST(IdlePrograms, who_keeps_much_after_the_load_is_not_idle) {
  const auto pack_then_read = [](Simulation& s) {
    requests(s, 0, kBusy, 4000);
    keep(s, kBusy + 2, kBusy + 6);
  };
  Judged judged = judge_table(pack_then_read);
  EXPECT_EQ(judged.idle, 0);
  EXPECT_EQ(judged.numbers[LeakVerdict::kLevel] + judged.numbers[LeakVerdict::kLeak], 0) << judged.verdicts;
  // Beside much that lives since the start it is a trifle.
  judged = judge_table([&](Simulation& s) {
    s.at_random(80'000, 0, 0.5, [&](double t) { s.block("warm-up", 4'096, t); });
    pack_then_read(s);
  });
  EXPECT_EQ(judged.idle, kSeeds);
  EXPECT_EQ(judged.numbers[LeakVerdict::kLevel] + judged.numbers[LeakVerdict::kLeak], 0) << judged.verdicts;
}

}  // namespace
}  // namespace memprof::profile::idle_programs_test
