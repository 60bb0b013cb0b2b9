// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/leak_limits.h"

#include <fmt/format.h>

#include "profile/model/error.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

constexpr char kHow[] = "it is written \"growth > 5MB\" or \"row > 1MB\", in a minute";

[[noreturn]] void refuse(const std::string& text, const std::string& why) {
  throw Error(fmt::format("'{}': {}; {}", text, why, kHow));
}

bool is_over(const LeakLimit& limit, const GrowthRate& rate) {
  return limit.may_be_equal ? rate.low > 0 && rate.low >= limit.bytes_per_minute
                            : rate.low > limit.bytes_per_minute;
}

std::string described(const GrowthRate& rate) {
  return fmt::format("{} a minute (95 %: {} to {})", format_bytes(rate.bytes_per_minute),
                     format_bytes(rate.low), format_bytes(rate.high));
}

}  // namespace

LeakLimit parse_leak_limit(const std::string& text) {
  LeakLimit limit;
  limit.text = text;
  const size_t sign = text.find('>');
  if (sign == std::string::npos) refuse(text, "there is no '>'");
  limit.may_be_equal = text.compare(sign, 2, ">=") == 0;
  const std::string what = trimmed(text.substr(0, sign));
  const std::string amount = trimmed(text.substr(sign + (limit.may_be_equal ? 2 : 1)));
  limit.is_of_rows = what == "row";
  if (!limit.is_of_rows && what != "growth") {
    refuse(text, what.empty() ? "what grows is missing" : "'" + what + "' is not growth or row");
  }
  const auto bytes = parse_bytes(amount);
  if (!bytes) refuse(text, amount.empty() ? "how much is missing" : "'" + amount + "' is no amount");
  limit.bytes_per_minute = static_cast<double>(*bytes);
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
