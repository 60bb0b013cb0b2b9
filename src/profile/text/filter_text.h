// SPDX-License-Identifier: Apache-2.0
// What a filter of stacks leaves, as a sentence.
//
// Threads: no state.
#pragma once

#include <string>

#include "profile/matching/stack_filter.h"

namespace memprof::profile {

// "Only stacks with a frame that matches 'x', and without ...", without a full stop, for a terminal.
std::string filter_sentence(const FilterTexts& texts);

}  // namespace memprof::profile
