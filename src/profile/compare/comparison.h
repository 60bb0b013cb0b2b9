// SPDX-License-Identifier: Apache-2.0
// Two profiles, or two groups of them, compared: what grew, what shrank, and how sure that is.
//
// Model: a row is what a report has rows of (report.h, `self`), matched by names (row_matching.h).  Each row
// has its change with interval and p-value (change.h); the p-values of all rows together are corrected for
// their number after Benjamini and Hochberg.  Rows that are not significant are summed up.  Where nothing is
// known of chance (a file that memprof did not write), every row that differs is listed.
//
// Threads: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "profile/compare/change.h"
#include "profile/compare/comparison_tree.h"
#include "profile/matching/stack_filter.h"
#include "profile/model/model.h"
#include "profile/names/frame_grouping.h"
#include "profile/view/row_notes.h"

namespace memprof::profile {

// A row is significant if its corrected p-value is no more than this.
inline constexpr double kSignificance = 0.05;

struct ComparisonOptions {
  GroupBy by = GroupBy::kFunction;
  std::optional<Metric> metric;  // else the first of live bytes ... that all files have
  StackFilter filter;
  FrameView view;
  bool has_tree = false;
  size_t max_tree_rows = SIZE_MAX;
  size_t max_intervals = SIZE_MAX;  // of the largest rows of growth, and of shrinkage: they take their time
  bool has_all_intervals = false;   // also of rows that are not listed
};

// A profile, and what it is called in messages.
struct ComparedProfile {
  std::string name;
  Profile profile;
};

struct ComparedFile {
  std::string name;
  std::string program;
  uint64_t pid = 0;
  uint64_t time_unix_ns = 0;
  uint64_t duration_ns = 0;
  uint64_t rate_bytes = 0;
  uint64_t samples = 0;
  bool from_memprof = false;
};

struct ComparedSide {
  std::vector<ComparedFile> files;
  SideFacts facts;
  // Of the process, where the side is one file.
  ResidentMemory resident;
  uint64_t max_resident_bytes = 0;
};

struct ComparisonRow {
  FrameGroup group;
  Change change;
  RowNotes notes;  // of the side on which the row holds more
  double corrected_p = 1;
  bool is_significant = false;
  size_t index = 0;  // among all rows, in no order
  // With everything that it calls; of a file, on average.
  double cumulative_before = 0;
  double cumulative_after = 0;
};

struct Comparison {
  GroupBy by = GroupBy::kFunction;
  Metric metric = Metric::kInuseSpace;
  ComparedSide before;
  ComparedSide after;
  std::vector<std::string> warnings;  // sentences
  bool is_tested = false;             // whether p-values are known
  FilterTexts filter;
  std::array<bool, kMetricCount> has_metric{};  // all files have it
  std::array<Change, kMetricCount> totals;      // of the stacks that the filter leaves

  // Rows that are listed: significant changes, or all changes where nothing is tested.  Largest first; rows
  // beyond max_intervals have no interval.
  std::vector<ComparisonRow> growth;
  std::vector<ComparisonRow> shrinkage;
  std::vector<ComparisonRow> others;  // without intervals, but for has_all_intervals
  double others_before = 0;
  double others_after = 0;

  std::vector<FrameGroup> groups;  // that the tree's nodes name
  std::optional<ComparisonTree> tree;

  size_t row_count() const { return growth.size() + shrinkage.size() + others.size(); }
  const Change& total() const { return totals[static_cast<size_t>(metric)]; }
};

inline bool is_significant(const Change& change) {
  return change.is_tested && change.value != 0 && change.p_value <= kSignificance;
}

// Failure: throws Error where the files have no metric in common, or not the one that is asked for.
Comparison compare(const std::vector<ComparedProfile>& before, const std::vector<ComparedProfile>& after,
                   const ComparisonOptions& options = {});

}  // namespace memprof::profile
