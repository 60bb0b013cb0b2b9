// SPDX-License-Identifier: Apache-2.0
// A profile as a table: what each function, line, file or module holds itself and together with what it
// calls.
//
// Model: `self` of a stack goes to its leaf, where the allocator's own functions (malloc, operator new) are
// not counted as the leaf; `cumulative` goes once to everything on the stack, however often it recurs.  Rows
// are sums of stacks with intervals (estimate.h).
//
// Threads: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/estimate.h"
#include "profile/metric.h"
#include "profile/model.h"

namespace memprof::profile {

enum class GroupBy : uint8_t { kFunction, kLine, kFile, kModule };

// "function", "line", "file", "module"
const char* group_by_name(GroupBy by);
std::optional<GroupBy> group_by_from_name(std::string_view name);

struct ReportOptions {
  GroupBy by = GroupBy::kFunction;
  Metric metric = Metric::kInuseSpace;  // rows are ordered by it
  size_t max_rows = SIZE_MAX;
  // Rows that hold nothing of the metric, neither themselves nor below, are left out (and not counted).
  bool skip_empty = false;
};

struct ReportRow {
  std::string name;    // of what the rows are grouped by; never empty
  std::string file;    // source file; empty: unknown
  int64_t line = 0;    // 0: unknown, or the row is of several lines
  std::string module;  // executable or library; empty: unknown, or the row is of several
  std::array<Estimate, kMetricCount> self;
  std::array<Estimate, kMetricCount> cumulative;
};

struct Report {
  GroupBy by = GroupBy::kFunction;
  Metric metric = Metric::kInuseSpace;

  std::string program;
  uint64_t pid = 0;
  uint64_t time_unix_ns = 0;
  uint64_t duration_ns = 0;
  uint64_t rate_bytes = 0;
  bool from_memprof = false;
  bool has_intervals = false;  // of the totals, and so of every row
  uint64_t samples = 0;
  uint64_t live_samples = 0;
  uint64_t dropped_samples = 0;
  uint64_t dropped_weight_bytes = 0;
  uint64_t replaced_samples = 0;
  std::optional<double> complete_stacks;  // share of the samples, 0 to 1
  std::array<bool, kMetricCount> has_metric{};
  double unlisted_bound_bytes = 0;

  std::array<Estimate, kMetricCount> totals;
  std::vector<ReportRow> rows;  // at most max_rows
  size_t row_count = 0;         // with those that are not in `rows`
};

// Values first by self, then by cumulative, then names: the order is always the same.
Report build_report(const Profile& profile, const ReportOptions& options = {});

// The metric that a reader looks at first: inuse_space, or the last that the profile has.
Metric default_metric(const Profile& profile);

}  // namespace memprof::profile
