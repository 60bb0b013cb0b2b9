// SPDX-License-Identifier: Apache-2.0
#include "profile/text/units.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <iterator>

#include "format/size_text.h"
#include "profile/model/metric.h"

namespace memprof::profile {
namespace {

constexpr uint64_t kMaxParsedBytes = uint64_t{1} << 50;  // the largest rate

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

std::string format_signed_bytes(double bytes) {
  return bytes < 0 ? "-" + format_bytes(-bytes) : bytes > 0 ? "+" + format_bytes(bytes) : "0 B";
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
  uint64_t bytes = 0;
  if (!parse_size(text, &bytes) || bytes > kMaxParsedBytes) return std::nullopt;
  return bytes;
}

std::string format_duration_ns(double ns) {
  static constexpr struct {
    const char* name;
    double ns;
    double until;  // from here on the next unit says it better
  } kUnits[] = {{"ns", 1, 1000},      {"us", 1e3, 1000}, {"ms", 1e6, 1000},   {"s", 1e9, 600},
                {"min", 60e9, 119.5}, {"h", 3600e9, 48}, {"days", 86400e9, 0}};
  size_t unit = 0;
  while (unit + 1 < std::size(kUnits) && ns / kUnits[unit].ns >= kUnits[unit].until - 0.05) ++unit;
  const double value = ns / kUnits[unit].ns;
  const bool is_whole = value >= 99.5 || std::fabs(value - std::round(value)) < 0.05;
  return fmt::format("{:.{}f} {}", value, is_whole ? 0 : 1, kUnits[unit].name);
}

std::optional<uint64_t> parse_duration_ns(std::string_view text) {
  static constexpr struct {
    std::string_view name;
    double ns;
  } kUnits[] = {{"ns", 1},   {"us", 1e3},   {"ms", 1e6},   {"s", 1e9},
                {"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9}};
  constexpr double kMax = 100.0 * 365 * 86400e9;
  double number = 0;
  const auto [end, error] =
      std::from_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed);
  if (error != std::errc()) return std::nullopt;
  std::string_view unit = text.substr(static_cast<size_t>(end - text.data()));
  if (unit.size() > 1 && unit[0] == ' ') unit.remove_prefix(1);
  for (const auto& known : kUnits) {
    const double ns = number * known.ns;
    if (unit == known.name && ns >= 1 && ns <= kMax) return static_cast<uint64_t>(std::llround(ns));
  }
  return std::nullopt;
}

std::string trimmed(const std::string& text) {
  const size_t begin = text.find_first_not_of(" \t");
  return begin == std::string::npos ? "" : text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}

}  // namespace memprof::profile
