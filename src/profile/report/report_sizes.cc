// SPDX-License-Identifier: Apache-2.0
#include "profile/report/report_sizes.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "profile/report/report_cells.h"
#include "profile/text/bar.h"
#include "profile/text/text_table.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

struct SizeSum {
  Accumulator sum;
  uint64_t samples = 0;
};

uint64_t power_below(uint64_t size) {
  uint64_t power = 1;
  while (power <= size / 2) power *= 2;
  return power;
}

std::string class_text(const SizeRow& row) {
  return fmt::format("{} to {}", format_bytes(static_cast<double>(row.from_bytes)),
                     format_bytes(static_cast<double>(row.to_bytes)));
}

}  // namespace

std::vector<SizeRow> size_rows(const std::vector<const Stack*>& stacks) {
  std::map<uint64_t, SizeSum> sums;
  for (const Stack* stack : stacks) {
    for (const LiveGroup& group : stack->live) {
      Stack one;
      one.has_statistics = true;
      one.live = {group};
      SizeSum& sum = sums[power_below(group.size_bytes)];
      sum.sum.add(one);
      sum.samples += group.samples;
    }
  }
  std::vector<SizeRow> rows;
  for (const auto& [from, sum] : sums) {
    const uint64_t to = from > UINT64_MAX / 2 ? UINT64_MAX : 2 * from;
    rows.push_back({from, to, sum.samples, sum.sum.estimate(Metric::kInuseSpace),
                    sum.sum.estimate(Metric::kInuseObjects)});
  }
  return rows;
}

void write_sizes(const Report& report, TextWriter* writer) {
  const double whole = report.selected[metric_index(Metric::kInuseSpace)].value;
  const std::string sign = writer->signs().plus_minus;
  TextRow titles;
  titles.numbers = {"live", sign, "%", "", "blocks", sign, "samples"};
  titles.name_text = "size of a block";
  TextTable table(std::move(titles));
  table.set_optional({6, 5, 1}, {2});
  double largest = 0;
  for (const SizeRow& row : report.sizes) largest = std::max(largest, row.bytes.value);
  for (const SizeRow& row : report.sizes) {
    TextRow line;
    line.numbers = {format_bytes(row.bytes.value),
                    plus_minus_cell(report, row.bytes),
                    percent_cell(row.bytes.value, whole),
                    bar_cell(largest > 0 ? row.bytes.value / largest : 0, writer->options().has_utf8),
                    format_count(row.blocks.value),
                    plus_minus_cell(report, row.blocks),
                    format_count(static_cast<double>(row.samples))};
    line.tones = {Tone::kPlain, Tone::kFaint, Tone::kPlain, Tone::kBar};
    line.name_text = class_text(row);
    table.add(std::move(line));
  }
  table.write(writer);
}

}  // namespace memprof::profile
