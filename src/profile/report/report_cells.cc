// SPDX-License-Identifier: Apache-2.0
#include "profile/report/report_cells.h"

#include <fmt/format.h>

#include <algorithm>

#include "profile/text/text_writer.h"
#include "profile/text/units.h"

namespace memprof::profile {

const char* metric_title(Metric metric) {
  static constexpr const char* kTitles[kMetricCount] = {
      "allocations",       "allocated", "blocks",           "live",
      "peak blocks",       "peak",      "mappings",         "mapped",
      "resident mappings", "resident",  "resident blocks",  "resident",
      "js objects",        "js heap",   "temporary blocks", "temporary"};
  return kTitles[metric_index(metric)];
}

std::array<Metric, 2> companions(Metric metric) {
  switch (metric) {
    case Metric::kInuseSpace:
      return {Metric::kInuseObjects, Metric::kAllocSpace};
    case Metric::kInuseObjects:
      return {Metric::kInuseSpace, Metric::kAllocSpace};
    case Metric::kAllocSpace:
      return {Metric::kAllocObjects, Metric::kInuseSpace};
    case Metric::kAllocObjects:
      return {Metric::kAllocSpace, Metric::kInuseSpace};
    case Metric::kPeakSpace:
      return {Metric::kPeakObjects, Metric::kAllocSpace};
    case Metric::kPeakObjects:
      return {Metric::kPeakSpace, Metric::kAllocSpace};
    case Metric::kMappedSpace:
    case Metric::kMappedResidentObjects:
      return {Metric::kMappedResidentSpace, Metric::kMappedObjects};
    case Metric::kMappedResidentSpace:
      return {Metric::kMappedSpace, Metric::kMappedObjects};
    case Metric::kMappedObjects:
      return {Metric::kMappedSpace, Metric::kMappedResidentSpace};
    case Metric::kResidentSpace:
      return {Metric::kResidentObjects, Metric::kInuseSpace};
    case Metric::kResidentObjects:
      return {Metric::kResidentSpace, Metric::kInuseObjects};
    case Metric::kJsSpace:
    case Metric::kJsObjects:
      return {Metric::kInuseSpace, Metric::kAllocSpace};
    case Metric::kTemporarySpace:
      return {Metric::kTemporaryObjects, Metric::kAllocSpace};
    case Metric::kTemporaryObjects:
      return {Metric::kTemporarySpace, Metric::kAllocSpace};
  }
  return {Metric::kInuseObjects, Metric::kAllocSpace};
}

std::string value_cell(const Report& report, Metric metric,
                       const std::array<Estimate, kMetricCount>& values) {
  const size_t i = metric_index(metric);
  return report.has_metric[i] ? format_metric(metric, values[i].value) : "-";
}

std::array<std::string, 2> companion_titles(Metric metric) {
  if (metric_is_resident(metric)) {
    return {metric_title(metric_is_bytes(metric) ? Metric::kInuseSpace : Metric::kInuseObjects), "in memory"};
  }
  const auto others = companions(metric);
  return {metric_title(others[0]), metric_title(others[1])};
}

std::array<std::string, 2> companion_cells(const Report& report,
                                           const std::array<Estimate, kMetricCount>& values) {
  const Metric metric = report.metric;
  if (metric_is_resident(metric)) {
    const Metric live = metric_is_bytes(metric) ? Metric::kInuseSpace : Metric::kInuseObjects;
    return {value_cell(report, live, values),
            percent_cell(values[metric_index(metric)].value, values[metric_index(live)].value)};
  }
  const auto others = companions(metric);
  return {value_cell(report, others[0], values), value_cell(report, others[1], values)};
}

std::string percent_cell(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f}%", 100 * part / whole) : std::string();
}

std::string plus_minus_cell(const Report& report, const Estimate& estimate) {
  if (!report.has_intervals || !estimate.has_interval) return "-";
  if (estimate.value <= 0) return "";
  const double half = std::max(estimate.high - estimate.value, estimate.value - estimate.low);
  const double share = 100 * half / estimate.value;
  if (share > 0 && share < 0.05) return "<0.1%";
  return fmt::format("{:.{}f}%", share, share > 0 && share < 9.95 ? 1 : 0);
}

std::string place_cell(const std::string& name, const std::string& file, int64_t line,
                       const std::string& module) {
  if (!file.empty()) return line > 0 ? fmt::format("{}:{}", file, line) : file;
  // `module+0xoffset` says it already.
  return name.compare(0, module.size() + 3, module + "+0x") == 0 ? std::string() : module;
}

std::vector<std::string> note_cells(const RowNotes& notes) {
  std::string caller;
  if (notes.called_by) {
    const OwnLine& line = *notes.called_by;
    caller =
        fmt::format("for {} ({}:{})", line.function, line.file.substr(line.file.rfind('/') + 1), line.line);
  }
  std::string through;
  if (notes.through) {
    const NativeCallee& callee = *notes.through;
    through = "through " + (callee.function.empty() ? callee.module : callee.function);
  }
  if (!caller.empty() && !through.empty()) return {caller + " " + through, caller};
  if (caller.empty() && through.empty()) return {};
  return {caller + through};
}

std::string value_source(const Report& report) {
  return report.origin.empty() ? "Not written by memprof: the values are those of the file"
                               : "The values are " + printable(report.origin);
}

}  // namespace memprof::profile
