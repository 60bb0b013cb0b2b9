// SPDX-License-Identifier: Apache-2.0
#include "profile/live/live_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "profile/live/live_columns.h"
#include "profile/memory/resident_text.h"
#include "profile/memory/unseen_heap.h"
#include "profile/report/output/report_header.h"
#include "profile/report/output/report_tree_text.h"
#include "profile/report/place_columns.h"
#include "profile/text/filter_text.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

std::string budget_text(const ProfileFacts& facts) {
  return facts.budget_ppm == 0
             ? ""
             : fmt::format(" (budget {:.6g} %)", static_cast<double>(facts.budget_ppm) / 1e4);
}

void write_header(const LiveModel& model, TextWriter* writer) {
  const Report& now = model.report();
  writer->sentence(writer->bold(model.who()) +
                   fmt::format(", {} sampled; rate {}, {} samples, {} live, {} dropped",
                               fmt::format("{:.0f} s", static_cast<double>(now.duration_ns) / 1e9),
                               (now.rate_bytes <= 1 ? "0 (every allocation)" : format_rate(now.rate_bytes)) +
                                   budget_text(now),
                               format_count(static_cast<double>(now.samples)),
                               format_count(static_cast<double>(now.live_samples)),
                               format_count(static_cast<double>(now.dropped_samples))));
  if (now.seen_after_ns != 0) writer->sentence(seen_since(now));
  if (now.is_filtered()) writer->sentence(filter_sentence(now.filter) + ".");
  const Estimate& live = now.selected[metric_index(Metric::kInuseSpace)];
  std::string line = "Live: " + writer->bold(format_bytes(live.value));
  if (live.has_interval && live.low != live.high) {
    line += fmt::format(" (95 %: {} to {})", format_bytes(live.low), format_bytes(live.high));
  }
  line += fmt::format(" in {} blocks", format_count(now.selected[metric_index(Metric::kInuseObjects)].value));
  if (now.resident.is_known()) {
    writer->sentence(line);
    line = "Resident: " + resident_line(now.resident);
  } else if (model.resident_bytes() != 0) {
    line += "; resident: " + format_bytes(static_cast<double>(model.resident_bytes()));
  }
  writer->sentence(line);
  if (now.unseen_heap.is_known()) writer->sentence("Not in it: " + unseen_heap_text(now.unseen_heap));
  if (const std::string bypassing = bypassing_text(now.bypassing_libraries); !bypassing.empty())
    writer->sentence("Not in it: " + bypassing);
  writer->sentence(fmt::format("Since this view began, {:.0f} s ago: {}; allocates {}", model.seconds(),
                               format_signed_bytes(model.total_growth()),
                               bytes_a_second(model.allocated_a_second())));
}

void write_table(const LiveModel& model, size_t max_rows, const TextOptions& options, TextWriter* writer) {
  const Report& now = model.report();
  const std::vector<LiveRow>& rows = model.rows();
  if (rows.empty() || max_rows == 0) {
    writer->sentence(why_nothing_is_live(now));
    return;
  }
  TextOptions without_bars = options;
  without_bars.has_bars = false;
  std::vector<Column<LiveRow>> columns;
  for (LiveColumn& column : live_columns(model, without_bars)) columns.push_back(std::move(column.column));
  const auto last = rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), max_rows));
  const auto place_of = [](const LiveRow& row) -> const ReportRow& { return *row.of; };
  write_columns(columns, rows.begin(), last,
                place_fill<LiveRow>(group_by_name(now.by), has_places(now.by) ? "file:line" : "", place_of),
                writer);
}

}  // namespace

std::string why_nothing_is_live(const Report& report) {
  if (report.samples == 0) return "No allocation was sampled yet.";
  return report.is_filtered() ? "Nothing of these stacks is live." : "Nothing is live.";
}

std::string live_text(const LiveModel& model, size_t max_rows, const TextOptions& options) {
  TextWriter writer(options);
  write_header(model, &writer);
  writer.blank();
  const Report& now = model.report();
  if (!model.choice().is_tree) {
    write_table(model, max_rows, options, &writer);
  } else if (now.tree && !now.tree->nodes.empty()) {
    TextWriter tree(options);
    write_tree(now, *now.tree, Direction::kCallees, &tree, TreeFooter::kNone, &model.tree_growth());
    const std::string text = tree.take();
    size_t end = text.find('\n');  // the titles
    for (size_t i = 0; i < max_rows && end + 1 < text.size(); ++i) end = text.find('\n', end + 1);
    writer.line(text.substr(0, end));
  } else {
    writer.sentence(why_nothing_is_live(now));
  }
  return writer.take();
}

}  // namespace memprof::profile
