// SPDX-License-Identifier: Apache-2.0
#include "profile/report/live_view.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "profile/report/report_cells.h"
#include "profile/report/report_header.h"
#include "profile/report/report_tree_text.h"
#include "profile/report/resident_text.h"
#include "profile/text/text_table.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

constexpr size_t kLive = metric_index(Metric::kInuseSpace);
constexpr size_t kBlocks = metric_index(Metric::kInuseObjects);
constexpr size_t kAllocated = metric_index(Metric::kAllocSpace);

std::string key_of(const ReportRow& row) {
  // Not the line: that is the one that holds the most at the moment.
  return row.name + '\0' + row.file + '\0' + row.module;
}

std::string per_second(double bytes) {
  return format_bytes(bytes) + "/s";
}

std::string budget_text(const ProfileFacts& facts) {
  return facts.budget_ppm == 0
             ? ""
             : fmt::format(" (budget {:.6g} %)", static_cast<double>(facts.budget_ppm) / 1e4);
}

double seconds_between(uint64_t from_ns, uint64_t to_ns) {
  return to_ns > from_ns ? static_cast<double>(to_ns - from_ns) / 1e9 : 0;
}

}  // namespace

ReportOptions live_report_options() {
  ReportOptions options;
  options.skip_empty = false;  // what was freed has shrunk
  return options;
}

ReportOptions live_tree_options(size_t max_rows) {
  constexpr double kTreePercent = 0.5;
  ReportOptions options;
  options.skip_empty = true;
  options.has_table = false;
  options.has_tree = true;
  options.max_rows = max_rows;
  options.tree.min_percent = kTreePercent;
  return options;
}

const char* live_sort_name(LiveSort sort) {
  static constexpr const char* kNames[] = {"live", "blocks", "cumulative", "growth", "allocates"};
  return kNames[static_cast<size_t>(sort)];
}

std::optional<LiveSort> live_sort_from_name(std::string_view name) {
  for (const LiveSort sort :
       {LiveSort::kLive, LiveSort::kBlocks, LiveSort::kCumulative, LiveSort::kGrowth, LiveSort::kAllocates}) {
    if (name == live_sort_name(sort)) return sort;
  }
  return std::nullopt;
}

void LiveView::look(const Report& report, uint64_t resident_bytes) {
  now_ = report;
  resident_bytes_ = resident_bytes;
  const double elapsed = seconds_between(last_ns_, now_.time_unix_ns);
  const auto rate = [&](double before, double after) {
    return has_first_ && elapsed > 0 && after > before ? (after - before) / elapsed : 0;
  };
  if (!has_first_) {
    first_ns_ = now_.time_unix_ns;
    first_live_ = now_.totals[kLive].value;
  }
  allocated_a_second_ = rate(last_allocated_, now_.totals[kAllocated].value);
  last_allocated_ = now_.totals[kAllocated].value;
  for (const ReportRow& row : now_.rows) {
    Site& site = sites_[key_of(row)];
    if (!has_first_) site.first_live = row.self[kLive].value;
    site.allocated_a_second = rate(site.last_allocated, row.self[kAllocated].value);
    site.last_allocated = row.self[kAllocated].value;
  }
  last_ns_ = now_.time_unix_ns;
  has_first_ = true;
}

void LiveView::write_header(TextWriter* writer) const {
  const std::string name = now_.program.empty() ? "unknown program" : printable(now_.program);
  writer->sentence(
      writer->bold(fmt::format("{} (pid {})", name, now_.pid)) +
      fmt::format(
          ", {} sampled; rate {}, {} samples, {} live, {} dropped",
          fmt::format("{:.0f} s", static_cast<double>(now_.duration_ns) / 1e9),
          (now_.rate_bytes <= 1 ? "0 (every allocation)" : format_rate(now_.rate_bytes)) + budget_text(now_),
          format_count(static_cast<double>(now_.samples)),
          format_count(static_cast<double>(now_.live_samples)),
          format_count(static_cast<double>(now_.dropped_samples))));
  if (now_.seen_after_ns != 0) writer->sentence(seen_since(now_));
  const Estimate& live = now_.totals[kLive];
  std::string line = "Live: " + writer->bold(format_bytes(live.value));
  if (live.has_interval && live.low != live.high) {
    line += fmt::format(" (95 %: {} to {})", format_bytes(live.low), format_bytes(live.high));
  }
  line += fmt::format(" in {} blocks", format_count(now_.totals[kBlocks].value));
  if (now_.resident.is_known()) {
    writer->sentence(line);
    line = "Resident: " + resident_line(now_.resident);
  } else if (resident_bytes_ != 0)
    line += "; resident: " + format_bytes(static_cast<double>(resident_bytes_));
  writer->sentence(line);
  writer->sentence(fmt::format(
      "Since this view began, {:.0f} s ago: {}; allocates {}", seconds_between(first_ns_, last_ns_),
      format_signed_bytes(live.value - first_live_), per_second(allocated_a_second_)));
}

double LiveView::Row::value(LiveSort sort) const {
  switch (sort) {
    case LiveSort::kLive:
      return of->self[kLive].value;
    case LiveSort::kBlocks:
      return of->self[kBlocks].value;
    case LiveSort::kCumulative:
      return of->cumulative[kLive].value;
    case LiveSort::kGrowth:
      return growth;
    case LiveSort::kAllocates:
      return allocated_a_second;
  }
  return 0;
}

// Those that say something, the largest first; else as in the report.
std::vector<LiveView::Row> LiveView::rows(LiveSort sort) const {
  std::vector<Row> rows;
  for (const ReportRow& row : now_.rows) {
    const auto found = sites_.find(key_of(row));
    const Row line{&row, row.self[kLive].value - found->second.first_live, found->second.allocated_a_second};
    if (row.self[kLive].value > 0 || line.growth != 0 || line.allocated_a_second > 0 ||
        (sort == LiveSort::kCumulative && row.cumulative[kLive].value > 0)) {
      rows.push_back(line);
    }
  }
  std::sort(rows.begin(), rows.end(), [sort](const Row& a, const Row& b) {
    const double one = a.value(sort);
    const double other = b.value(sort);
    return one != other ? one > other : a.of < b.of;  // else as the report has them
  });
  return rows;
}

void LiveView::write_table(LiveSort sort, size_t max_rows, TextWriter* writer) const {
  TextRow titles;
  titles.numbers = {"live", writer->signs().plus_minus, "%", "blocks", "cumulative", "growth", "allocates"};
  titles.name_text = "function";
  titles.place = "file:line";
  TextTable table(std::move(titles));
  const std::vector<Row> rows = this->rows(sort);
  // What a narrow terminal leaves out first; never what rows are ordered by.
  if (sort == LiveSort::kBlocks) {
    table.set_optional({1, 2, 4}, {6, 5});
  } else if (sort == LiveSort::kAllocates) {
    table.set_optional({3, 1, 2}, {4, 5});
  } else {
    table.set_optional({3, 1, 2}, {6});
  }
  for (size_t i = 0; i < rows.size() && i < max_rows; ++i) {
    const ReportRow& row = *rows[i].of;
    TextRow line;
    line.numbers = {value_cell(now_, Metric::kInuseSpace, row.self),
                    plus_minus_cell(now_, row.self[kLive]),
                    percent_cell(row.self[kLive].value, now_.totals[kLive].value),
                    value_cell(now_, Metric::kInuseObjects, row.self),
                    value_cell(now_, Metric::kInuseSpace, row.cumulative),
                    format_signed_bytes(rows[i].growth),
                    per_second(rows[i].allocated_a_second)};
    line.names = {printable(row.name)};
    line.place = printable(place_cell(row.name, row.file, row.line, row.module));
    table.add(std::move(line));
  }
  if (rows.empty() || max_rows == 0) {
    writer->sentence(now_.samples == 0 ? "No allocation was sampled yet." : "Nothing is live.");
    return;
  }
  table.write(writer);
}

std::string LiveView::text(LiveSort sort, size_t max_rows, const TextOptions& options) const {
  TextWriter writer(options);
  write_header(&writer);
  writer.blank();
  write_table(sort, max_rows, &writer);
  return writer.take();
}

std::string LiveView::tree_text(const Report& tree, const TextOptions& options) const {
  TextWriter writer(options);
  write_header(&writer);
  writer.blank();
  if (tree.tree && !tree.tree->nodes.empty()) {
    write_tree(tree, *tree.tree, Direction::kCallees, &writer, TreeFooter::kNone);
  } else {
    writer.sentence(now_.samples == 0 ? "No allocation was sampled yet." : "Nothing is live.");
  }
  return writer.take();
}

}  // namespace memprof::profile
