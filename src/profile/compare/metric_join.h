// SPDX-License-Identifier: Apache-2.0
// Profiles of one thing in several files, each with other metrics, as one profile: a server that keeps a profile by its
// sample types gives back one at a time.
//
// Model: a place is one by its file, names and lines, and only without a name by its address: a server may have kept
// the addresses of any of the processes that it added up.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "profile/model/model.h"
#include "profile/model/stack_sum.h"

namespace memprof::profile {

class MetricJoin {
 public:
  MetricJoin() = default;
  MetricJoin(const MetricJoin&) = delete;  // sums_ refers to joined_
  MetricJoin& operator=(const MetricJoin&) = delete;

  // Takes the metrics that the profile has, each value divided by `looks`.  Of the first one also what is said of the
  // program.  Stacks must have no statistics.
  void add(const Profile& profile, double looks);

  // All that was added.
  Profile take();

 private:
  uint32_t mapping_of(const Mapping& mapping);
  uint32_t location_of(const Profile& profile, const Location& location,
                       const std::vector<uint32_t>& mappings);
  uint32_t function_of(const Function& function);

  Profile joined_;
  bool is_begun_ = false;
  std::unordered_map<std::string, uint32_t> mappings_;
  std::unordered_map<std::string, uint32_t> functions_;
  std::unordered_map<std::string, uint32_t> locations_;
  StackSums sums_{&joined_.stacks};
};

}  // namespace memprof::profile
