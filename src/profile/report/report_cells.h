// SPDX-License-Identifier: Apache-2.0
// The cells of a report's tables: values, percents and intervals as text.
//
// Threads: no state.
#pragma once

#include <array>
#include <string>

#include "profile/report/report.h"
#include "profile/text/units.h"

namespace memprof::profile {

// "12,345"
inline std::string number(uint64_t count) {
  return format_count(static_cast<double>(count));
}

// Title of a column.
const char* metric_title(Metric metric);

// The two metrics that stand beside the one that rows are ordered by.
std::array<Metric, 2> companions(Metric metric);

// As columns of a table, their titles, and the cells of a row.  Beside what is resident stand what is live and how much
// of that is resident.
std::array<std::string, 2> companion_titles(Metric metric);
std::array<std::string, 2> companion_cells(const Report& report,
                                           const std::array<Estimate, kMetricCount>& values);

// Whether every allocation was recorded.
inline bool is_exact(const Report& report) {
  return report.rate_bytes <= 1 && (report.rates.empty() || report.rates.back().rate_bytes <= 1);
}
// Of a profile at rate 0: nothing of its processes passed unseen, and none of them is missing.
inline bool is_whole(const Report& report) {
  return report.dropped_samples == 0 && report.muted_bytes == 0 && report.unseen_processes == 0 &&
         report.uncollected_processes == 0 && report.small_processes == 0 &&
         report.bypassing_libraries == 0 && !report.unseen_heap.is_known();
}

std::string value_cell(const Report& report, Metric metric, const std::array<Estimate, kMetricCount>& values);

// "12.3%"; empty where there is no whole.
std::string percent_cell(double part, double whole);

// Half of the interval, the larger one, in percent of the value; "-": not known.
std::string plus_minus_cell(const Report& report, const Estimate& estimate);

// Source file and line, else the module; empty where the name says it already.
std::string place_cell(const std::string& name, const std::string& file, int64_t line,
                       const std::string& module);

// What stands beside a line of a language's runtime, and what of it where there is less room:
// `for prices (app.py:4) through PyArray_Empty`, `for prices (app.py:4)`.
std::vector<std::string> note_cells(const RowNotes& notes);

// Of a report that is not of a file by memprof: whose the values are, the beginning of a sentence.
std::string value_source(const Report& report);

}  // namespace memprof::profile
