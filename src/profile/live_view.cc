// SPDX-License-Identifier: Apache-2.0
#include "profile/live_view.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "profile/report_cells.h"
#include "profile/text_table.h"
#include "profile/units.h"

namespace memprof::profile {
namespace {

constexpr size_t kLive = metric_index(Metric::kInuseSpace);
constexpr size_t kBlocks = metric_index(Metric::kInuseObjects);
constexpr size_t kAllocated = metric_index(Metric::kAllocSpace);

std::string key_of(const ReportRow& row) {
  return row.name + '\0' + row.file + '\0' + std::to_string(row.line) + '\0' + row.module;
}

std::string signed_bytes(double bytes) {
  return bytes < 0 ? "-" + format_bytes(-bytes) : bytes > 0 ? "+" + format_bytes(bytes) : "0 B";
}

std::string per_second(double bytes) {
  return format_bytes(bytes) + "/s";
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
  writer->sentence(writer->bold(fmt::format("{} (pid {})", name, now_.pid)) +
                   fmt::format(", {} sampled; rate {}, {} samples, {} live, {} dropped",
                               fmt::format("{:.0f} s", static_cast<double>(now_.duration_ns) / 1e9),
                               now_.rate_bytes <= 1 ? "0 (every allocation)" : format_rate(now_.rate_bytes),
                               format_count(static_cast<double>(now_.samples)),
                               format_count(static_cast<double>(now_.live_samples)),
                               format_count(static_cast<double>(now_.dropped_samples))));
  const Estimate& live = now_.totals[kLive];
  std::string line = "Live: " + writer->bold(format_bytes(live.value));
  if (live.has_interval && live.low != live.high) {
    line += fmt::format(" (95 %: {} to {})", format_bytes(live.low), format_bytes(live.high));
  }
  line += fmt::format(" in {} blocks", format_count(now_.totals[kBlocks].value));
  if (resident_bytes_ != 0) line += "; resident: " + format_bytes(static_cast<double>(resident_bytes_));
  writer->sentence(line);
  writer->sentence(fmt::format("Since this view began, {:.0f} s ago: {}; allocates {}",
                               seconds_between(first_ns_, last_ns_), signed_bytes(live.value - first_live_),
                               per_second(allocated_a_second_)));
}

void LiveView::write_table(size_t max_rows, TextWriter* writer) const {
  TextRow titles;
  titles.numbers = {"live", writer->signs().plus_minus, "%", "blocks", "growth", "allocates"};
  titles.name_text = "function";
  titles.place = "file:line";
  TextTable table(std::move(titles));
  table.set_optional({3, 1, 2}, {5});
  size_t shown = 0;
  for (const ReportRow& row : now_.rows) {
    const auto found = sites_.find(key_of(row));
    const double growth = row.self[kLive].value - found->second.first_live;
    const bool says_something =
        row.self[kLive].value > 0 || growth != 0 || found->second.allocated_a_second > 0;
    if (shown == max_rows || !says_something) continue;
    ++shown;
    TextRow line;
    line.numbers = {value_cell(now_, Metric::kInuseSpace, row.self),
                    plus_minus_cell(now_, row.self[kLive]),
                    percent_cell(row.self[kLive].value, now_.totals[kLive].value),
                    value_cell(now_, Metric::kInuseObjects, row.self),
                    signed_bytes(growth),
                    per_second(found->second.allocated_a_second)};
    line.names = {printable(row.name)};
    line.place = printable(place_cell(row.name, row.file, row.line, row.module));
    table.add(std::move(line));
  }
  if (shown == 0) {
    writer->sentence(now_.samples == 0 ? "No allocation was sampled yet." : "Nothing is live.");
    return;
  }
  table.write(writer);
}

std::string LiveView::text(size_t max_rows, const TextOptions& options) const {
  TextWriter writer(options);
  write_header(&writer);
  writer.blank();
  write_table(max_rows, &writer);
  return writer.take();
}

}  // namespace memprof::profile
