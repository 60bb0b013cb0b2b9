// SPDX-License-Identifier: Apache-2.0
#include "profile/text/units.h"

#include <fmt/format.h>

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

}  // namespace memprof::profile
