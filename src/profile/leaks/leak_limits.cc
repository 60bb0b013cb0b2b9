// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/leak_limits.h"

#include <fmt/format.h>

#include "profile/text/units.h"

namespace memprof::profile {
namespace {

constexpr char kHow[] = "it is written \"growth > 5MB\" or \"row > 1MB\", in a minute";

bool is_over(const LeakLimit& limit, const GrowthRate& rate) {
  return is_over_limit(limit, rate.low, limit.amount);
}

std::string described(const GrowthRate& rate) {
  return fmt::format("{} a minute (95 %: {} to {})", format_bytes(rate.bytes_per_minute),
                     format_bytes(rate.low), format_bytes(rate.high));
}

}  // namespace

LeakLimit parse_leak_limit(const std::string& text) {
  LeakLimit limit{parse_limit_text(text, LimitPercent::kRefused, kHow), false};
  limit.is_of_rows = limit.what == "row";
  if (!limit.is_of_rows && limit.what != "growth") {
    refuse_limit(text, "'" + limit.what + "' is not growth or row", kHow);
  }
  return limit;
}

LeakLimitResult check_leak_limit(const Leaks& leaks, const LeakLimit& limit) {
  if (leaks.suspects == 0) return {false, "no suspect"};
  if (!limit.is_of_rows) return {is_over(limit, leaks.growth), described(leaks.growth)};
  for (size_t i = 0; i < leaks.suspects; ++i) {
    const LeakRow& row = leaks.rows[i];
    if (is_over(limit, row.growth)) return {true, row.place.name + ": " + described(row.growth)};
  }
  return {false, "the fastest: " + described(leaks.rows.front().growth)};
}

}  // namespace memprof::profile
