// SPDX-License-Identifier: Apache-2.0
// Puts samples with the same locations, heap and process (the text labels of those names) together as one
// Stack, and its samples with the same other labels as one part.  Where no sample of a stack has labels, it has no parts.
//
// Threads: one reader's own.
// Failure: throws Error when the budget is spent.
#pragma once

#include <array>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/files/read_budget.h"
#include "profile/model/model.h"
#include "profile/pprof/ids/hash_index.h"

namespace memprof::profile {

class StackFolder {
 public:
  // Stacks go into `stacks`, in the order of their first sample.
  StackFolder(std::vector<Stack>& stacks, ReadBudget& budget) : stacks_(stacks), budget_(budget) {}

  // `hash`: stack_hash_of() the locations.
  void add(const std::vector<uint32_t>& locations, uint64_t hash, std::vector<Label> labels,
           const std::array<double, kMetricCount>& values);

  // Number of samples that went into each stack.
  const std::vector<uint32_t>& samples_of() const { return samples_of_; }

 private:
  bool is_stack(uint32_t index, const std::vector<uint32_t>& locations, const std::string& heap,
                const std::string& process) const;
  uint32_t stack_with(const std::vector<uint32_t>& locations, uint64_t hash, const std::string& heap,
                      const std::string& process);
  LabeledValues& part_with(uint32_t stack_index, std::vector<Label> labels);

  std::vector<Stack>& stacks_;
  ReadBudget& budget_;
  HashIndex stacks_by_hash_;
  // Of stacks with more than a few parts.
  std::unordered_multimap<uint64_t, uint32_t> parts_by_hash_;
  std::vector<uint32_t> samples_of_;
};

}  // namespace memprof::profile
