// SPDX-License-Identifier: Apache-2.0
// What the hosts of services held, by slots of time, out of the files that `memprof ship` writes, in any order.
//
// Model: a slot is a 24th of a cycle (a day).  Of each host and slot there are sums by function, and the times of looks.
// Where there are too many sums, slots become twice as long, up to a third of a cycle.  Functions that hold less than
// 1/5000 of a look are left out; they count in the row of all.
//
// Memory: 16 bytes a sum, at most kMaxSums of them (twice that while they grow); profiles are not kept.
// Threads: one object, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

struct SlotSum {
  uint32_t slot;  // since 1970
  uint32_t row;
  double bytes;  // of all looks in it
};

// What has one set of labels, but for the version.
struct SlotSeries {
  std::vector<uint64_t> times;  // of looks, each once for each version
  std::vector<SlotSum> sums;
  size_t merged = 0;  // so many of the sums are by slot and row, each once
};

struct SlotVersion {
  std::map<std::string, uint64_t> first_ns;  // by host
};

struct SlotService {
  std::map<std::string, std::map<std::string, SlotSeries>> hosts;  // by host, by labels
  std::map<std::string, SlotVersion> versions;
  uint64_t rate_bytes = 0;
};

class FleetSlots {
 public:
  static constexpr size_t kMaxSums = 6'000'000;
  static constexpr uint64_t kSlots = 24;  // in a cycle, at first
  static constexpr uint64_t kMinSlots = 3;
  static constexpr uint32_t kAllRow = 0;  // the row of all functions

  // `version_label`: which label says the version.  `cycle_ns`: at least a minute.
  FleetSlots(std::string version_label, uint64_t cycle_ns, size_t max_sums = kMaxSums);

  // false: the profile has no labels.
  bool add(const Profile& profile);

  // There were too many sums: there are none now.
  bool is_full() const { return is_full_; }
  size_t looks() const { return looks_; }
  uint64_t first_ns() const { return looks_ == 0 ? 0 : first_ns_; }
  uint64_t last_ns() const { return last_ns_; }
  uint64_t cycle_ns() const { return slot_ns_ * slots_; }
  uint64_t slot_ns() const { return slot_ns_; }
  uint64_t slots() const { return slots_; }  // in a cycle
  const std::vector<std::string>& rows() const { return rows_; }
  // Each series is merged after this; who takes them may empty them.
  std::map<std::string, SlotService>& services();

 private:
  uint32_t row_of(const std::string& function);
  void merge(SlotSeries* series);
  void make_room();

  const std::string version_label_;
  const size_t max_sums_;
  uint64_t slots_ = kSlots;
  uint64_t slot_ns_;
  bool is_full_ = false;
  size_t looks_ = 0;
  size_t sums_ = 0;
  uint64_t first_ns_ = UINT64_MAX;
  uint64_t last_ns_ = 0;
  std::map<std::string, SlotService> services_;
  std::map<std::string, uint32_t> indices_;
  std::vector<std::string> rows_;
};

}  // namespace memprof::profile
