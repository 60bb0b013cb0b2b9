// SPDX-License-Identifier: Apache-2.0
#include "profile/report/report_csv.h"

#include <string>
#include <vector>

#include "profile/text/markup/csv_text.h"
#include "profile/text/markup/json_text.h"

namespace memprof::profile {
namespace {

using Fields = std::vector<std::string>;

std::string number(double value) {
  return std::to_string(json_rounded(value));
}

// Value, low and high end; the ends are empty where they are not known.
void add_estimate(const Estimate& estimate, bool has_intervals, Fields* line) {
  const bool is_known = has_intervals && estimate.has_interval;
  line->push_back(number(estimate.value));
  line->push_back(is_known ? number(estimate.low) : "");
  line->push_back(is_known ? number(estimate.high) : "");
}

void add_titles(const std::string& name, Fields* line) {
  for (const char* end : {"", "_low", "_high"}) line->push_back(name + end);
}

std::string line_number(int64_t line) {
  return line > 0 ? std::to_string(line) : "";
}

std::vector<Metric> metrics_of(const Report& report) {
  std::vector<Metric> metrics;
  for (const Metric metric : kMetrics) {
    if (report.has_metric[metric_index(metric)]) metrics.push_back(metric);
  }
  return metrics;
}

std::string rows_csv(const Report& report) {
  const std::vector<Metric> metrics = metrics_of(report);
  Fields titles = {"name",
                   "file",
                   "line",
                   "module",
                   "through_function",
                   "through_module",
                   "called_by_function",
                   "called_by_file",
                   "called_by_line"};
  for (const char* which : {"self_", "cumulative_"}) {
    for (const Metric metric : metrics) add_titles(std::string(which) + metric_name(metric), &titles);
  }
  std::string text = csv_line(titles);
  for (const ReportRow& row : report.rows) {
    const NativeCallee through = row.notes.through.value_or(NativeCallee());
    const OwnLine called_by = row.notes.called_by.value_or(OwnLine());
    Fields line = {row.name,           row.file,         line_number(row.line),
                   row.module,         through.function, through.module,
                   called_by.function, called_by.file,   line_number(called_by.line)};
    for (const auto* values : {&row.self, &row.cumulative}) {
      for (const Metric metric : metrics) {
        add_estimate((*values)[metric_index(metric)], report.has_intervals, &line);
      }
    }
    text += csv_line(line);
  }
  return text;
}

std::string sizes_csv(const Report& report) {
  Fields titles = {"from_bytes", "to_bytes", "samples"};
  for (const char* name : {"inuse_space", "inuse_objects"}) add_titles(name, &titles);
  std::string text = csv_line(titles);
  for (const SizeRow& row : report.sizes) {
    Fields line = {std::to_string(row.from_bytes), std::to_string(row.to_bytes), std::to_string(row.samples)};
    for (const Estimate* estimate : {&row.bytes, &row.blocks}) {
      add_estimate(*estimate, report.has_intervals, &line);
    }
    text += csv_line(line);
  }
  return text;
}

}  // namespace

std::string report_csv(const Report& report) {
  return report.has_sizes ? sizes_csv(report) : rows_csv(report);
}

}  // namespace memprof::profile
