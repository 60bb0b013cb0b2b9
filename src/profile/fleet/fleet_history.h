// SPDX-License-Identifier: Apache-2.0
// Services over time against themselves: functions whose level shifted, or that began to grow, out of the files that
// `memprof ship` writes.
//
// Model: the values of a row are those of history_blocks.h; change_test() finds what changed, of all rows of all
// services together: services with the same blocks are one test, and tests share the rate by their number of services
// (Bonferroni).  A change is named if also
// - it is more than sampling makes of it: what a process keeps was sampled once, and all hosts sample anew when a
//   version comes; count_test(), corrected for rows and positions;
// - 0 is not in the interval of the change, in which is what hosts differ in it;
// - it is ten samples or more, over all hosts, and a thousandth of what a host holds.
// So the chance that a run names anything where there is no change is at most the rate.  A row has one change: the one
// that fits it best.
//
// Threads: no state.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "profile/fleet/fleet_slots.h"
#include "profile/significance/change_test.h"

namespace memprof::profile {

// A version that came to the hosts of a service that had another one.
struct Rollout {
  std::string version;
  uint64_t first_ns = 0;  // the first look with it
  uint64_t last_ns = 0;   // nine tenths of the hosts that ever had it, have it
};

struct HistoryChange {
  std::string service;
  std::string function;
  ChangeShape shape = ChangeShape::kStep;
  uint64_t time_ns = 0;  // when, since 1970, and its 95 % interval
  uint64_t low_ns = 0;
  uint64_t high_ns = 0;
  double before_bytes = 0;       // of a host; of growth: at its beginning and at the end
  double before_half_bytes = 0;  // of the 95 % interval
  double after_bytes = 0;
  double after_half_bytes = 0;
  double change_half_bytes = 0;
  double bytes_a_day = 0;  // of growth
  double bytes_a_day_half = 0;
  double p_value = 1;             // corrected
  std::vector<Rollout> rollouts;  // in that interval
};

struct HistoryService {
  std::string name;
  size_t hosts = 0;  // that have a part in it
  size_t all_hosts = 0;
  size_t blocks = 0;
  size_t rows = 0;      // that were looked at
  std::string trouble;  // not empty: it was not looked at, and why
  bool has_versions = false;
  std::vector<Rollout> rollouts;  // by time
};

struct FleetHistory {
  double rate = 0;
  size_t looks = 0;
  uint64_t first_ns = 0;
  uint64_t last_ns = 0;
  uint64_t cycle_ns = 0;
  uint64_t cycles = 1;  // in a block
  std::string trouble;  // not empty: nothing was looked at
  std::vector<HistoryService> services;
  std::vector<HistoryChange> changes;  // the largest first
};

// Takes the sums of `slots` away.  `rate`: the chance of any false change, above 0.
FleetHistory history_of(FleetSlots* slots, double rate);

}  // namespace memprof::profile
