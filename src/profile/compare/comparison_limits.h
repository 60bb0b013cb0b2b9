// SPDX-License-Identifier: Apache-2.0
// Limits for a comparison, such as "growth > 5MB" and "alloc > 10%", and whether it keeps them.
//
// Model: WHAT > AMOUNT or WHAT >= AMOUNT.  WHAT is `growth` (the total of the metric that is compared),
// `live`, `alloc`, the name of a metric, or `row` (any one row).  AMOUNT is bytes, a number of blocks, or
// percent of what there was before.  A limit is exceeded only where the change is significant, too; the
// p-values of several limits are corrected for their number.
//
// Threads: no state.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profile/compare/comparison.h"
#include "profile/text/limit_text.h"

namespace memprof::profile {

struct Limit : LimitText {
  bool is_of_rows = false;
  std::optional<Metric> metric;  // nothing: the one that is compared
};

struct LimitResult {
  std::string text;
  bool is_exceeded = false;
  std::string what;  // a sentence: what changed, and why it passes or not
};

// Throws Error that says what is wrong with the text and how it is written.
Limit parse_limit(const std::string& text);

// Throws Error where the files do not have a limit's metric, or where nothing is known of chance.
std::vector<LimitResult> check_limits(const Comparison& comparison, const std::vector<Limit>& limits);

}  // namespace memprof::profile
