// SPDX-License-Identifier: Apache-2.0
// How much suspects may grow: "growth > 5MB" and "row > 1MB", in a minute.
//
// Threads: no state.
// Failure: throws Error, which names what was given.
#pragma once

#include <string>

#include "profile/leaks/leaks.h"
#include "profile/text/limit_text.h"

namespace memprof::profile {

// Its amount is bytes in a minute.
struct LeakLimit : LimitText {
  bool is_of_rows = false;  // of any place, not of all
};

LeakLimit parse_leak_limit(const std::string& text);

struct LeakLimitResult {
  bool is_exceeded = false;
  std::string what;  // "no suspect", or how much grows
};

// By the low end of intervals: what is more than the limit for sure.
LeakLimitResult check_leak_limit(const Leaks& leaks, const LeakLimit& limit);

}  // namespace memprof::profile
