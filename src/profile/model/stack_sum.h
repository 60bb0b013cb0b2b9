// SPDX-License-Identifier: Apache-2.0
// Adds up what two profiles have of one stack.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <vector>

#include "profile/model/model.h"

namespace memprof::profile {

// Of the same locations (of one profile), heap and process.
bool is_same_stack(const Stack& a, const Stack& b);
uint64_t stack_hash(const Stack& stack);

// Both ascending by class.
void add_lifetimes(const std::vector<Lifetime>& more, std::vector<Lifetime>* sum);

// Both with statistics, or both without.
void add_to_stack(const Stack& more, Stack* sum);

}  // namespace memprof::profile
