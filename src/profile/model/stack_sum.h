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

// Of the same locations (of one profile), heap and process.
bool is_same_stack(const Stack& a, const Stack& b);
uint64_t stack_hash(const Stack& stack);

// Both ascending by class.
void add_lifetimes(const std::vector<Lifetime>& more, std::vector<Lifetime>* sum);
// Both ascending by part.
void add_births(const std::vector<Birth>& more, std::vector<Birth>* sum);

// Both with statistics, or both without.
void add_to_stack(const Stack& more, Stack* sum);

// Takes off what only grows, as it was at an earlier look at the same process: what was allocated and freed.  What
// is live and the peak stay as they are.  Where the earlier look had more (a table was full since, and stacks were
// folded), the stack has values below zero, and no statistics.
void subtract_from_stack(const Stack& earlier, Stack* stack);

// Stacks of one profile, each once: what is added of a stack that is there is added up.
class StackSums {
 public:
  // Into `stacks`, in the order of their first; it must outlive this, and is empty.
  explicit StackSums(std::vector<Stack>* stacks) : stacks_(*stacks) {}

  void add(Stack stack);

  // The one of the same locations, heap and process, that has statistics or not like it; nullptr: there is none.
  Stack* find(const Stack& like);

 private:
  std::vector<Stack>& stacks_;
  std::unordered_multimap<uint64_t, uint32_t> by_hash_;
};

}  // namespace memprof::profile
