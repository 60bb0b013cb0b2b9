// SPDX-License-Identifier: Apache-2.0
// Adds up what two profiles have of one stack.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

// Whether both have the same locations (indices into one profile), heap and process.
bool is_same_stack(const Stack& a, const Stack& b);
uint64_t stack_hash(const Stack& stack);

// Adds `more` to `sum`; both are sorted by class.
void add_lifetimes(const std::vector<Lifetime>& more, std::vector<Lifetime>* sum);
// Both ascending by part.
void add_births(const std::vector<Birth>& more, std::vector<Birth>* sum);

// Both kinds of births, of Stack or StackStatistics.  Where one of them has none by load, its load went on as time did.
template <typename HasBirths>
void add_all_births(const HasBirths& more, HasBirths* sum) {
  if (!more.load_births.empty() || !sum->load_births.empty()) {
    if (sum->load_births.empty()) sum->load_births = sum->births;
    add_births(more.load_births.empty() ? more.births : more.load_births, &sum->load_births);
  }
  add_births(more.births, &sum->births);
}

// Of the profile with the most load.
inline void add_load(const LoadTimes& more, LoadTimes* sum) {
  if (more.bytes > sum->bytes) *sum = more;
}

// Adds `more` to `sum`; both have statistics, or neither has.
void add_to_stack(const Stack& more, Stack* sum);

// Subtracts an earlier profile of the same process from what only grows, the totals of allocations and frees.
// Live blocks and the peak stay as they are.  Where the earlier profile has more (a table was full since then, and
// stacks were folded), the stack gets values below zero and loses its statistics.
void subtract_from_stack(const Stack& earlier, Stack* stack);

// The stacks of one profile without duplicates: equal stacks are summed.
class StackSums {
 public:
  // Appends to `stacks`, in the order in which each stack first comes; it must be empty, and outlive this.
  explicit StackSums(std::vector<Stack>* stacks) : stacks_(*stacks) {}

  // Returns which of the stacks it is now.
  uint32_t add(Stack stack);

  // The stack with the same locations, heap and process that has statistics if `like` has; nullptr: none.
  Stack* find(const Stack& like);

 private:
  std::vector<Stack>& stacks_;
  std::unordered_multimap<uint64_t, uint32_t> by_hash_;
};

}  // namespace memprof::profile
