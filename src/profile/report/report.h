// SPDX-License-Identifier: Apache-2.0
// A profile as a person asks for it: as a table of what each function, line, file, module or heap holds
// itself and together with what it calls; as a tree of calls; or as the callers and callees of a function.
//
// Model: `self` of a stack goes to its leaf, `cumulative` once to everything on the stack, however often it
// recurs; frames that are not the program's are left out before (frame_grouping.h).  Rows are sums of stacks
// with intervals (estimate.h).  With focus or ignore, rows are of the stacks selected, and percents still of
// the whole profile.
//
// Threads: plain values.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "format/profile_facts.h"
#include "format/resident.h"
#include "profile/matching/stack_filter.h"
#include "profile/memory/unseen_heap.h"
#include "profile/model/cut_stacks.h"
#include "profile/model/estimate.h"
#include "profile/model/metric.h"
#include "profile/model/model.h"
#include "profile/model/stack_health.h"
#include "profile/names/frame_grouping.h"
#include "profile/report/call_edges.h"
#include "profile/report/call_tree.h"
#include "profile/report/report_sizes.h"
#include "profile/view/origin.h"
#include "profile/view/row_notes.h"

namespace memprof::profile {

struct ReportOptions {
  GroupBy by = GroupBy::kFunction;
  Metric metric = Metric::kInuseSpace;  // rows are ordered by it
  size_t max_rows = SIZE_MAX;           // of each table and tree
  // Rows that hold nothing of the metric, neither themselves nor below, are left out (and not counted).
  bool skip_empty = false;
  // Rows of a single sample are counted and summed, not listed: Report::single_rows.
  bool fold_single = false;
  StackFilter filter;
  FrameView view;
  bool has_table = true;
  bool has_sizes = false;  // how large live blocks are
  // Shows a call tree; with callers or callees, a tree of these instead of their tables.
  bool has_tree = false;
  TreeLimits tree;
  std::optional<std::string> callers;  // of this function
  std::optional<std::string> callees;
};

struct ReportRow {
  std::string name;    // of what the rows are grouped by; never empty
  std::string file;    // source file; empty: unknown
  int64_t line = 0;    // the line that holds the most; 0: unknown, or the row has several functions
  std::string module;  // executable or library; empty: unknown, or the row has several
  RowNotes notes;
  std::array<Estimate, kMetricCount> self;
  std::array<Estimate, kMetricCount> cumulative;
};

// Rows that one sample alone is known of, with all below them; it says that there is such a site, and hardly what it
// holds.  Not those of a block that is so large that it cannot have been missed.
struct SingleRows {
  size_t count = 0;
  Estimate together;  // of the metric
};

// A named heap of an allocator of the program's own.
struct ReportHeap {
  std::string name;
  std::array<Estimate, kMetricCount> values;  // of the stacks that were selected
};

// Callers or callees.
struct ReportCalls {
  CallEdges edges;
  std::optional<CallTree> tree;
};

// Its facts are those of the profile.
struct Report : ProfileFacts {
  GroupBy by = GroupBy::kFunction;
  Metric metric = Metric::kInuseSpace;

  std::string program;
  std::string told_apart;  // Profile::told_apart
  uint64_t pid = 0;
  uint64_t time_unix_ns = 0;
  uint64_t duration_ns = 0;
  uint64_t rate_bytes = 0;
  std::vector<RateUse> rates;  // more than one, ascending; or none: rate_bytes is the only one
  std::string origin;          // origin_of()
  bool from_memprof = false;
  bool has_intervals = false;             // of the totals, and so of nearly every row
  uint64_t stacks_without_intervals = 0;  // whose values do not agree with their statistics
  uint64_t temporary_ns = 0;              // as in profile/model/model.h
  double unknown_lifetime_bytes = 0;      // freed with unknown lifetime; set where temporary_ns is
  std::vector<std::string> unseen;  // some of the unseen by name: "nginx (pid 12) is statically linked ..."
  ResidentMemory resident;          // of the process when the profile was written; or nothing is known
  UnseenHeap unseen_heap;           // of the process
  std::string likely_runtime_heap;  // whose heap mappings of unknown origin may be; empty: unknown
  Runtimes runtimes;                // as in profile/model/model.h
  std::optional<StackHealth> health;
  std::vector<const CutRuntime*> cut_runtimes;  // in the process, whether or not they cut a stack
  std::array<bool, kMetricCount> has_metric{};
  double unlisted_bound_bytes = 0;

  std::array<Estimate, kMetricCount> totals;  // of the whole profile
  FilterTexts filter;
  std::array<Estimate, kMetricCount> selected;  // of the stacks that it leaves; else the totals

  std::vector<ReportHeap> heaps;  // the largest of the metric first

  bool has_table = true;
  std::vector<ReportRow> rows;  // at most max_rows
  size_t row_count = 0;         // of all rows, also those beyond max_rows
  SingleRows single_rows;       // that are not among them
  bool has_sizes = false;
  std::vector<SizeRow> sizes;

  TreeLimits tree_limits;
  std::vector<FrameGroup> groups;  // that the trees' nodes name
  std::optional<CallTree> tree;
  std::vector<ReportCalls> calls;  // callers first

  std::vector<std::string>
      forwarders;      // wrappers of the allocator that were found, and left out (forwarders.h)
  std::string hidden;  // the expression of frames that were left out; empty: none

  bool is_filtered() const { return !filter.is_empty(); }
};

// Values first by self, then by cumulative, then names: the order is always the same.
// Failure: throws Error where `callers` or `callees` names no function, or a tree has too many frames.
Report build_report(const Profile& profile, const ReportOptions& options = {});

}  // namespace memprof::profile
