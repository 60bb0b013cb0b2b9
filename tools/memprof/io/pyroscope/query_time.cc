// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/pyroscope/query_time.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <ctime>

namespace memprof::cli {
namespace {

constexpr int64_t kMaxSpanSeconds = int64_t{100} * 366 * 86'400;  // of "now-..."

bool is_digit(char c) {
  return std::isdigit(static_cast<unsigned char>(c)) != 0;
}

int64_t seconds_of(char unit) {
  switch (unit) {
    case 's':
      return 1;
    case 'm':
      return 60;
    case 'h':
      return 3600;
    case 'd':
      return 86'400;
    case 'w':
      return 7 * 86'400;
    default:
      return 0;
  }
}

// "1h30m", in seconds.
std::optional<int64_t> span_seconds(const std::string& text) {
  int64_t sum = 0;
  size_t at = 0;
  while (at < text.size()) {
    constexpr size_t kMaxDigits = 10;
    const size_t begin = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    if (at == begin || at - begin > kMaxDigits || at == text.size()) return std::nullopt;
    const int64_t unit = seconds_of(text[at]);
    if (unit == 0) return std::nullopt;
    const int64_t part = std::stoll(text.substr(begin, at - begin)) * unit;
    if (part > kMaxSpanSeconds) return std::nullopt;
    sum += part;
    if (sum > kMaxSpanSeconds) return std::nullopt;
    ++at;
  }
  return text.empty() ? std::nullopt : std::optional<int64_t>(sum);
}

std::optional<int64_t> since_1970_ms(const std::string& digits) {
  switch (digits.size()) {
    case 10:
      return std::stoll(digits) * 1000;
    case 13:
      return std::stoll(digits);
    case 16:
      return std::stoll(digits) / 1000;
    case 19:
      return digits <= "9223372036854775807" ? std::optional<int64_t>(std::stoll(digits) / 1'000'000)
                                             : std::nullopt;
    default:
      return std::nullopt;
  }
}

std::optional<int64_t> date_ms(std::string text) {
  const bool is_utc = text.back() == 'Z';
  if (is_utc) text.pop_back();
  std::tm day{};
  int end = 0;
  // NOLINTNEXTLINE(cert-err34-c): widths limit the numbers, and `end` says whether all was read
  const int parts = std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d%n:%2d%n", &day.tm_year, &day.tm_mon,
                                &day.tm_mday, &day.tm_hour, &day.tm_min, &end, &day.tm_sec, &end);
  const bool is_whole = parts >= 5 && static_cast<size_t>(end) == text.size() && is_digit(text[0]);
  const bool is_date = day.tm_year >= 1970 && day.tm_mon >= 1 && day.tm_mon <= 12 && day.tm_mday >= 1 &&
                       day.tm_mday <= 31 && day.tm_hour >= 0 && day.tm_hour < 24 && day.tm_min >= 0 &&
                       day.tm_min < 60 && day.tm_sec >= 0 && day.tm_sec < 61;
  if (!is_whole || !is_date) return std::nullopt;
  day.tm_year -= 1900;
  day.tm_mon -= 1;
  day.tm_isdst = -1;
  const std::time_t seconds = is_utc ? timegm(&day) : std::mktime(&day);
  return seconds < 0 ? std::nullopt : std::optional<int64_t>(int64_t{seconds} * 1000);
}

}  // namespace

std::optional<int64_t> query_time_ms(const std::string& text, int64_t now_ms) {
  constexpr size_t kNow = 3;
  if (text.empty()) return std::nullopt;
  if (text == "now") return now_ms;
  if (text.rfind("now-", 0) == 0) {
    const auto seconds = span_seconds(text.substr(kNow + 1));
    return seconds ? std::optional<int64_t>(now_ms - *seconds * 1000) : std::nullopt;
  }
  if (std::all_of(text.begin(), text.end(), is_digit)) return since_1970_ms(text);
  return date_ms(text);
}

}  // namespace memprof::cli
