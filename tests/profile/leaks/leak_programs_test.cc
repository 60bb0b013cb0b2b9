// SPDX-License-Identifier: Apache-2.0
// Verdicts on programs of known truth: 20 seeds of each.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "profile/leaks/leaks.h"
#include "tests/profile/leaks/simulation.h"

namespace memprof::profile::leak_programs_test {
namespace {

using leak_simulation::kNever;
using leak_simulation::Simulation;
using Verdicts = std::set<LeakVerdict>;

constexpr int kSeeds = 20;
constexpr uint64_t kRate = 512 * 1024;
constexpr double kRun = 600;

struct Program {
  const char* name;
  std::function<void(Simulation&)> run;
  const char* site;  // what is asked
  Verdicts right;
  bool leaks;
  // So much of all that is allocated stays that it may be something that was loaded, once it does not go on.
  bool keeps_much = false;
};

// What every server does besides: requests, and tables that are made at the start.
void background(Simulation& s) {
  s.at_random(2, 0, s.run_s(), [&](double t) { s.block("handle", 200'000, t, t + s.exponential(0.02)); });
  for (int i = 0; i < 100; ++i) s.block("load_tables", 400'000, s.uniform(0, 5));
}

// 8 % of a second's blocks of 64 KiB are forgotten.
void leak(Simulation& s) {
  s.at_random(20, 0, s.run_s(), [&](double t) {
    s.block("open_session", 65'536, t, s.uniform(0, 1) < 0.08 ? kNever : t + s.exponential(3));
  });
}

void leak_of_all(Simulation& s) {
  s.at_random(1, 0, s.run_s(), [&](double t) { s.block("append_event", 100'000, t); });
}

// Of 36,000 samples 60 stay.
void slow_leak_under_churn(Simulation& s) {
  s.at_random(60, 0, s.run_s(), [&](double t) { s.block("parse", 600'000, t, t + s.exponential(0.005)); });
  s.at_random(0.12, 0, s.run_s(), [&](double t) { s.block("parse", 1'000'000, t); });
}

// Small blocks of many sizes.
void leak_in_a_library(Simulation& s) {
  s.at_random(300, 0, s.run_s(), [&](double t) {
    const auto size = static_cast<uint64_t>(s.uniform(16, 4096));
    s.block("library_strdup", size, t, s.uniform(0, 1) < 0.5 ? kNever : t + s.exponential(0.5));
  });
}

// Insert if it is not there: 400 keys of which any is asked for at random.
void cache_that_fills(Simulation& s) {
  for (int key = 0; key < 400; ++key) {
    s.block("cache_insert", 300'000, s.exponential(s.run_s() / 6));
  }
}

// Insert until it is full, 45 % through the run.
void cache_with_a_limit(Simulation& s) {
  s.at_random(1, 0, 0.45 * s.run_s(), [&](double t) { s.block("cache_insert", 300'000, t); });
}

// Each block goes when as many came after it.
void lru_at_its_level(Simulation& s) {
  std::vector<double> births;
  s.at_random(4, 0, s.run_s(), [&](double t) { births.push_back(t); });
  constexpr size_t kEntries = 400;
  for (size_t i = 0; i < births.size(); ++i) {
    // Some are used again and stay for a second round.
    const size_t until = i + (s.uniform(0, 1) < 0.3 ? 2 : 1) * kEntries;
    s.block("lru_insert", 300'000, births[i], until < births.size() ? births[until] : kNever);
  }
}

// Whichever: lifetimes are exponential from when it is full on.
void cache_with_random_victims(Simulation& s) {
  const double full = s.run_s() / 5;
  s.at_random(3, 0, s.run_s(), [&](double t) {
    s.block("cache_insert", 300'000, t, std::max(t, full) + s.exponential(full));
  });
}

void ring_buffer(Simulation& s) {
  constexpr size_t kSlots = 256;
  std::vector<double> births;
  for (double t = 0; t < s.run_s(); t += 0.5) births.push_back(t);
  for (size_t i = 0; i < births.size(); ++i) {
    s.block("ring_push", 400'000, births[i], i + kSlots < births.size() ? births[i + kSlots] : kNever);
  }
}

void warm_up(Simulation& s) {
  s.at_random(20, 0, 0.1 * s.run_s(), [&](double t) { s.block("compile", 100'000, t); });
}

// Grows by half until it has what is needed at most; then its blocks are used again.
void pool(Simulation& s) {
  double blocks = 8;
  for (double t = 1; blocks < 500; t *= 1.5) {
    for (int i = 0; i < blocks / 2; ++i) s.block("pool_grow", 300'000, t + s.uniform(0, 0.01));
    blocks *= 1.5;
  }
}

// Short ones between long ones: holes, and no more live blocks.
void fragmentation(Simulation& s) {
  for (double t = 0; t < s.run_s(); t += 10) {
    for (int i = 0; i < 200; ++i) {
      s.block("mix", static_cast<uint64_t>(s.uniform(100, 200'000)), t + s.uniform(0, 1),
              i % 10 == 0 ? t + 10 + s.uniform(0, 20) : t + 2 + s.uniform(0, 1));
    }
  }
}

// A data set is read for 60 % of the run and then worked on; the array that holds it doubles.
void growth_that_is_asked_for(Simulation& s) {
  s.at_random(3, 0, 0.6 * s.run_s(), [&](double t) { s.block("read_row", 200'000, t); });
  double last = 0.5;
  uint64_t size = 500'000;
  for (double t = 1; last < 0.6 * s.run_s(); t *= 2) {
    s.block("grow_array", size, last, t);
    last = t;
    size *= 2;
  }
}

// Everything goes at once, each 40 to 50 seconds.
void sawtooth(Simulation& s) {
  double begin = 0;
  while (begin < s.run_s()) {
    const double end = begin + s.uniform(40, 50);
    s.at_random(10, begin, std::min(end, s.run_s()),
                [&](double t) { s.block("new_object", 200'000, t, end); });
    begin = end;
  }
}

// Young ones go soon; those that a cycle holds live until the next whole collection.
void python_cycles(Simulation& s) {
  double begin = 0;
  while (begin < s.run_s()) {
    const double end = begin + s.uniform(25, 35);
    s.at_random(40, begin, std::min(end, s.run_s()), [&](double t) {
      s.block("make_node", 65'536, t, s.uniform(0, 1) < 0.3 ? end : t + s.exponential(0.3));
    });
    begin = end;
  }
}

// Threads of a pool come and go; each fills its cache in its first second and keeps it until it ends.
void thread_local_caches(Simulation& s) {
  const auto thread = [&](double t, double end) {
    for (int i = 0; i < 10; ++i) s.block("thread_cache", 200'000, t + s.uniform(0, 1), end);
  };
  for (int i = 0; i < 8; ++i) thread(s.uniform(0, 2), kNever);
  s.at_random(0.3, 0, s.run_s(), [&](double t) { thread(t, t + 5 + s.exponential(20)); });
}

void one_off(Simulation& s) {
  const double t = s.uniform(0.3, 0.6) * s.run_s();
  for (int i = 0; i < 120; ++i) s.block("load_model", 400'000, t + s.uniform(0, 3));
}

// Nothing that anybody could say much about.
void few_samples(Simulation& s) {
  s.at_random(0.01, 0, s.run_s(), [&](double t) { s.block("append_event", 400'000, t); });
}

const Verdicts kLeaks = {LeakVerdict::kLeak};
const Verdicts kGoes = {LeakVerdict::kLevel};
const Verdicts kStays = {LeakVerdict::kFilled, LeakVerdict::kStart};

const Program kPrograms[] = {
    {"leak", leak, "open_session", kLeaks, true},
    {"leak of all blocks", leak_of_all, "append_event", kLeaks, true, true},
    {"slow leak under heavy churn", slow_leak_under_churn, "parse", kLeaks, true},
    {"leak in a library", leak_in_a_library, "library_strdup", kLeaks, true, true},
    {"cache that fills", cache_that_fills, "cache_insert", kStays, false},
    {"cache with a limit", cache_with_a_limit, "cache_insert", kStays, false},
    {"LRU at its level", lru_at_its_level, "lru_insert", kGoes, false},
    {"cache with random victims", cache_with_random_victims, "cache_insert", kGoes, false},
    {"ring buffer", ring_buffer, "ring_push", kGoes, false},
    {"warm-up", warm_up, "compile", {LeakVerdict::kStart}, false},
    {"pool", pool, "pool_grow", kStays, false},
    {"fragmentation", fragmentation, "mix", kGoes, false},
    {"growth that is asked for", growth_that_is_asked_for, "read_row", kStays, false},
    {"sawtooth by a garbage collector", sawtooth, "new_object", kGoes, false},
    {"Python cycles", python_cycles, "make_node", kGoes, false},
    {"thread-local caches",
     thread_local_caches,
     "thread_cache",
     {LeakVerdict::kLevel, LeakVerdict::kStart},
     false},
    {"one-off", one_off, "load_model", {LeakVerdict::kOnce}, false},
    {"few samples", few_samples, "append_event", {LeakVerdict::kUnknown}, false},
};

Leaks leaks_of(const Program& program, uint64_t seed, double idle_s) {
  Simulation simulation(kRun, kRate, seed, idle_s);
  background(simulation);
  program.run(simulation);
  return find_leaks({{"simulated", simulation.profile()}});
}

const Verdicts kUnknown = {LeakVerdict::kUnknown};

void expect_right(double idle_s) {
  for (const Program& program : kPrograms) {
    int right = 0;
    std::string found;
    for (int seed = 1; seed <= kSeeds; ++seed) {
      const Leaks leaks = leaks_of(program, static_cast<uint64_t>(seed), idle_s);
      const auto row = std::find_if(leaks.rows.begin(), leaks.rows.end(),
                                    [&](const LeakRow& one) { return one.place.name == program.site; });
      const std::string verdict = row == leaks.rows.end() ? "nothing" : verdict_name(row->verdict);
      const Verdicts& wanted = idle_s > 0 && program.keeps_much ? kUnknown : program.right;
      const bool is_right = row != leaks.rows.end() && wanted.count(row->verdict) != 0;
      right += is_right ? 1 : 0;
      if (!is_right) found += " " + std::to_string(seed) + ":" + verdict;
      // Nobody else is accused, whatever the seed.
      for (const LeakRow& one : leaks.rows) {
        if (one.verdict != LeakVerdict::kLeak) continue;
        EXPECT_TRUE(program.leaks && one.place.name == program.site)
            << program.name << ", seed " << seed << ": " << one.place.name;
      }
    }
    EXPECT_GE(right, kSeeds * 95 / 100) << program.name << ", idle " << idle_s << " s:" << found;
    if (std::getenv("LEAKS_TALK") != nullptr)
      printf("%-34s idle %5.0f s: %d of %d%s\n", program.name, idle_s, right, kSeeds, found.c_str());
  }
}

TEST(LeakPrograms, verdicts_are_right) {
  expect_right(0);
}
TEST(LeakPrograms, verdicts_are_right_after_a_short_idle_time) {
  expect_right(kRun / 4);
}
TEST(LeakPrograms, verdicts_are_right_after_a_long_idle_time) {
  expect_right(2.5 * kRun);
}
TEST(LeakPrograms, verdicts_are_right_after_25_times_as_long_idle) {
  expect_right(25 * kRun);
}

// At the edges: what has just reached its level, or has not yet.  Such a one is "unknown" more often than not.
TEST(LeakPrograms, what_is_about_to_end_is_seldom_accused) {
  const auto turns_over = [](Simulation& s) {  // a queue, for the first time at 95 % of the run
    s.at_random(200 / kRun, 0, kRun, [&](double t) { s.block("push", 3'000'000, t, t + 0.95 * kRun); });
  };
  const auto stops = [](Simulation& s) {  // with few samples
    s.at_random(60 / kRun, 0, 0.85 * kRun, [&](double t) { s.block("read", 3'000'000, t); });
  };
  const auto half_filled = [](Simulation& s) {  // 86 % of the keys of a cache were asked for
    for (int key = 0; key < 200; ++key) s.block("insert", 3'000'000, s.exponential(kRun / 2));
  };
  const std::pair<const char*, std::function<void(Simulation&)>> shapes[] = {
      {"turns over", turns_over}, {"stops", stops}, {"half filled", half_filled}};
  constexpr int kEdgeSeeds = 100;
  for (const auto& [name, run] : shapes) {
    int accused = 0;
    for (int seed = 1; seed <= kEdgeSeeds; ++seed) {
      Simulation simulation(kRun, kRate, static_cast<uint64_t>(seed));
      run(simulation);
      accused += find_leaks({{"simulated", simulation.profile()}}).suspects != 0 ? 1 : 0;
    }
    if (std::getenv("LEAKS_TALK") != nullptr) printf("%-34s %d of %d\n", name, accused, kEdgeSeeds);
    EXPECT_LE(accused, 4) << name;  // odds of 1 % each: more than 4 have odds of 1 in 300
  }
}

}  // namespace
}  // namespace memprof::profile::leak_programs_test
