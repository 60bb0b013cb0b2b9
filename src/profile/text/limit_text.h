// SPDX-License-Identifier: Apache-2.0
// Limits as --fail-on takes them, "growth > 5MB": the one grammar of `diff`, `leaks` and `check`.  What WHAT may
// be is for the command to say.
//
// Threads: no state.
#pragma once

#include <string>

namespace memprof::profile {

struct LimitText {
  std::string text;  // as it was given
  std::string what;
  double amount = 0;          // bytes, blocks, or percent
  bool is_percent = false;    // only where it is allowed
  bool may_be_equal = false;  // `>=`: so much is too much
};

enum class LimitPercent : unsigned char { kRefused, kAllowed };

// WHAT > AMOUNT or WHAT >= AMOUNT.  `how` ends each message: how a limit is written.
// Failure: throws Error, which names what was given.
LimitText parse_limit_text(const std::string& text, LimitPercent percent, const std::string& how);

// Throws the Error for a limit that cannot be used: its text, why, and `how`.
[[noreturn]] void refuse_limit(const std::string& text, const std::string& why, const std::string& how);

// Whether a value exceeds the limit's amount; nothing that shrank does.
bool is_over_limit(const LimitText& limit, double value, double amount);

}  // namespace memprof::profile
