// SPDX-License-Identifier: Apache-2.0
#include "profile/live/live_columns.h"

#include <string>
#include <utility>

#include "profile/report/report_cells.h"
#include "profile/text/bar.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

using Row = LiveRow;

constexpr double kLargeShare = 0.1;

}  // namespace

std::vector<LiveColumn> live_columns(const LiveModel& model, const TextOptions& options) {
  const Report& report = model.report();
  const Metric metric = model.choice().metric;
  const size_t index = metric_index(metric);
  const auto share = [whole = report.totals[index].value, index](const Row& row) {
    return whole > 0 ? row.of->self[index].value / whole : 0;
  };
  const auto large = [share](const Row& row) {
    return share(row) >= kLargeShare ? Tone::kStrong : Tone::kPlain;
  };
  const auto always = [](Tone tone) { return [tone](const Row&) { return tone; }; };
  std::vector<LiveColumn> columns = {
      {text_column<Row>(
           metric_title(metric), kStays,
           [&report, metric](const Row& row) { return value_cell(report, metric, row.of->self); }, large),
       10, LiveSort::kLive},
      {text_column<Row>(
           TextWriter(options).signs().plus_minus, 2,
           [&report, index](const Row& row) { return plus_minus_cell(report, row.of->self[index]); },
           always(Tone::kFaint)),
       6},
      {text_column<Row>(
           "%", 4,
           [whole = report.totals[index].value, index](const Row& row) {
             return percent_cell(row.of->self[index].value, whole);
           },
           large),
       6},
      {text_column<Row>("blocks", 3,
                        [&report, blocks = companions(metric)[0]](const Row& row) {
                          return value_cell(report, blocks, row.of->self);
                        }),
       9, LiveSort::kBlocks},
      {text_column<Row>(
           "cumulative", kLast,
           [&report, metric](const Row& row) { return value_cell(report, metric, row.of->cumulative); }),
       11, LiveSort::kCumulative},
      {text_column<Row>(
           "growth", kLast + 2, [](const Row& row) { return format_signed_bytes(row.growth); },
           [](const Row& row) { return change_tone(row.growth); }),
       11, LiveSort::kGrowth},
      {text_column<Row>(
           "allocates", kLast + 1, [](const Row& row) { return bytes_a_second(row.allocated_a_second); },
           [](const Row& row) { return row.allocated_a_second > 0 ? Tone::kPlain : Tone::kFaint; }),
       12, LiveSort::kAllocates},
  };
  if (options.has_bars) {
    constexpr size_t kBehindPercent = 3;
    columns.insert(
        columns.begin() + kBehindPercent,
        {text_column<Row>(
             "", 1,
             [share, has_utf8 = options.has_utf8](const Row& row) { return bar_cell(share(row), has_utf8); },
             always(Tone::kBar)),
         10});
  }
  for (LiveColumn& column : columns) {
    if (column.sort == model.choice().sort) column.column.left_out = kStays;
  }
  return columns;
}

std::string bytes_a_second(double bytes) {
  return format_bytes(bytes) + "/s";
}

}  // namespace memprof::profile
