// SPDX-License-Identifier: Apache-2.0
#include "profile/text/limit_text.h"

#include <fmt/format.h>

#include <charconv>

#include "profile/model/error.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

// "10 %"; false: it is no number from 0 on.
bool parse_percent(const std::string& amount, double* percent) {
  const std::string number = trimmed(amount.substr(0, amount.size() - 1));
  const char* end = number.data() + number.size();
  const auto [last, error] = std::from_chars(number.data(), end, *percent, std::chars_format::fixed);
  return error == std::errc() && last == end && *percent >= 0;
}

}  // namespace

void refuse_limit(const std::string& text, const std::string& why, const std::string& how) {
  throw Error(fmt::format("'{}': {}; {}", text, why, how));
}

LimitText parse_limit_text(const std::string& text, LimitPercent percent, const std::string& how) {
  LimitText limit;
  limit.text = text;
  const size_t sign = text.find('>');
  if (sign == std::string::npos) refuse_limit(text, "it has no '>'", how);
  limit.may_be_equal = text.compare(sign, 2, ">=") == 0;
  limit.what = trimmed(text.substr(0, sign));
  if (limit.what.empty()) refuse_limit(text, "what is limited is missing", how);
  const std::string amount = trimmed(text.substr(sign + (limit.may_be_equal ? 2 : 1)));
  if (amount.empty()) refuse_limit(text, "how much is missing", how);
  if (percent == LimitPercent::kAllowed && amount.back() == '%') {
    if (!parse_percent(amount, &limit.amount)) {
      refuse_limit(text, "'" + amount + "' is no percentage", how);
    }
    limit.is_percent = true;
    return limit;
  }
  const auto bytes = parse_bytes(amount);
  if (!bytes) refuse_limit(text, "'" + amount + "' is no amount", how);
  limit.amount = static_cast<double>(*bytes);
  return limit;
}

bool is_over_limit(const LimitText& limit, double value, double amount) {
  return value > 0 && (limit.may_be_equal ? value >= amount : value > amount);
}

}  // namespace memprof::profile
