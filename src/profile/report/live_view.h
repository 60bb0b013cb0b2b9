// SPDX-License-Identifier: Apache-2.0
// What a running process holds, look after look: now, how much more than at the first look, and how fast it
// allocates.
//
// Model: each look is a report; a row is known by its name, file and module.  Growth is the estimate of now
// minus that of the first look, rates are differences of running totals over the time between two looks.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "profile/report/report.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {

// What a view wants of a report: of its table, and of a tree.
ReportOptions live_report_options();
ReportOptions live_tree_options(size_t max_rows);

// What rows are ordered by.
enum class LiveSort : uint8_t { kLive, kBlocks, kCumulative, kGrowth, kAllocates };

// "live", "blocks", "cumulative", "growth", "allocates"
const char* live_sort_name(LiveSort sort);
std::optional<LiveSort> live_sort_from_name(std::string_view name);

class LiveView {
 public:
  // `resident_bytes`: of the process, as the system has it; 0: unknown.
  void look(const Report& report, uint64_t resident_bytes);

  // Of the last look, in at most `max_rows` rows.
  std::string text(LiveSort sort, size_t max_rows, const TextOptions& options) const;
  // With the tree of a report of the last look.
  std::string tree_text(const Report& tree, const TextOptions& options) const;

 private:
  struct Site {
    double first_live = 0;
    double last_allocated = 0;
    double allocated_a_second = 0;
  };
  struct Row {
    const ReportRow* of = nullptr;
    double growth = 0;
    double allocated_a_second = 0;

    double value(LiveSort sort) const;
  };
  void write_header(TextWriter* writer) const;
  std::vector<Row> rows(LiveSort sort) const;
  void write_table(LiveSort sort, size_t max_rows, TextWriter* writer) const;

  Report now_;
  uint64_t resident_bytes_ = 0;
  bool has_first_ = false;
  uint64_t first_ns_ = 0;
  uint64_t last_ns_ = 0;
  double first_live_ = 0;
  double last_allocated_ = 0;
  double allocated_a_second_ = 0;
  std::map<std::string, Site> sites_;
};

}  // namespace memprof::profile
