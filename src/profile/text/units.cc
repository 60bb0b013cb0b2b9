// SPDX-License-Identifier: Apache-2.0
#include "profile/text/units.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>
#include <cmath>
#include <iterator>

#include "profile/model/metric.h"

namespace memprof::profile {
namespace {

constexpr double kMaxParsedBytes = 1125899906842624.0;  // 2^50, the largest rate

std::string with_separators(double whole) {
  std::string text = fmt::format("{:.0f}", whole);
  for (size_t i = text.size(); i > 3;) {
    i -= 3;
    if (text[i - 1] != '-') text.insert(i, ",");
  }
  return text;
}

}  // namespace

std::string format_bytes(double bytes) {
  static constexpr const char* kUnits[] = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (std::fabs(bytes) < 1023.5) return fmt::format("{:.0f} B", bytes);
  double value = bytes / 1024;
  size_t unit = 0;
  // 1023.95 would be printed as 1024.0.
  while (std::fabs(value) >= 1023.95 && unit + 1 < std::size(kUnits)) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_count(double count) {
  if (std::fabs(count) < 999999.5) return with_separators(std::round(count));
  if (std::fabs(count) < 999.95e6) return fmt::format("{:.1f} M", count / 1e6);
  return fmt::format("{:.1f} G", count / 1e9);
}

std::string format_metric(Metric metric, double value) {
  return metric_is_bytes(metric) ? format_bytes(value) : format_count(value);
}

std::string format_rate(uint64_t bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
  size_t unit = 0;
  while (bytes >= 1024 && bytes % 1024 == 0 && unit + 1 < std::size(kUnits)) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{} {}", bytes, kUnits[unit]);
}

std::optional<uint64_t> parse_bytes(std::string_view text) {
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc() || !(number >= 0)) return std::nullopt;
  std::string unit;
  for (const char* c = end; c != text.data() + text.size(); ++c) {
    unit += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  }
  if (unit.size() > 1 && unit[0] == ' ') unit.erase(0, 1);
  static constexpr std::string_view kPrefixes = "kmgtp";
  if (!unit.empty() && unit != "b") {
    const size_t prefix = kPrefixes.find(unit[0]);
    const std::string_view rest = std::string_view(unit).substr(1);
    if (prefix == std::string_view::npos || !(rest.empty() || rest == "b" || rest == "ib"))
      return std::nullopt;
    number = std::ldexp(number, 10 * static_cast<int>(prefix + 1));
  }
  if (number > kMaxParsedBytes || number != std::floor(number)) return std::nullopt;
  return static_cast<uint64_t>(number);
}

}  // namespace memprof::profile
