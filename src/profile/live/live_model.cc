// SPDX-License-Identifier: Apache-2.0
#include "profile/live/live_model.h"

#include <fmt/format.h>

#include <utility>

#include "profile/text/text_writer.h"

namespace memprof::profile {
namespace {

constexpr size_t kAllocated = metric_index(Metric::kAllocSpace);
constexpr size_t kMaxTreeRows = 1000;
constexpr double kTreePercent = 0.5;

std::string key_of(const ReportRow& row, GroupBy by) {
  std::string key = row.name + '\0' + row.file + '\0' + row.module;
  return by == GroupBy::kLine ? key + '\0' + std::to_string(row.line) : key;
}

double seconds_between(uint64_t from_ns, uint64_t to_ns) {
  return to_ns > from_ns ? static_cast<double>(to_ns - from_ns) / 1e9 : 0;
}

double per_second(double before, double after, double seconds) {
  return seconds > 0 && after > before ? (after - before) / seconds : 0;
}

// The metric of blocks beside that of bytes.
Metric blocks_of(Metric bytes) {
  if (bytes == Metric::kAllocSpace) return Metric::kAllocObjects;
  return bytes == Metric::kPeakSpace ? Metric::kPeakObjects : Metric::kInuseObjects;
}

double sorted_value(const LiveRow& row, const LiveChoice& choice) {
  const size_t metric = metric_index(choice.metric);
  switch (choice.sort) {
    case LiveSort::kLive:
      return row.of->self[metric].value;
    case LiveSort::kBlocks:
      return row.of->self[metric_index(blocks_of(choice.metric))].value;
    case LiveSort::kCumulative:
      return row.of->cumulative[metric].value;
    case LiveSort::kGrowth:
      return row.growth;
    case LiveSort::kAllocates:
      return row.allocated_a_second;
  }
  return 0;
}

}  // namespace

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

// `is_whole`: a tree without limits.
Report LiveModel::report_of(const Profile& profile, const LiveChoice& choice, bool is_whole) {
  ReportOptions options;
  options.by = choice.by;
  options.metric = choice.metric;
  options.filter = choice.filter;
  options.view = choice.view;
  options.skip_empty = choice.is_tree;  // of a table, what was freed has shrunk
  options.has_table = !choice.is_tree;
  options.has_tree = choice.is_tree;
  if (choice.is_tree && !is_whole) {
    options.max_rows = kMaxTreeRows;
    options.tree.min_percent = kTreePercent;
  }
  Report report = build_report(profile, options);
  if (choice.by == GroupBy::kProcess) {
    // A profile of one process does not say whose its stacks are.
    for (ReportRow& row : report.rows) {
      if (row.name == kDefaultHeap) row.name = process_label(profile);
    }
  }
  return report;
}

void LiveModel::note(const Report& report, Kept* kept) {
  const size_t metric = metric_index(report.metric);
  kept->total = {report.selected[metric].value, report.selected[kAllocated].value};
  kept->rows.clear();
  for (const ReportRow& row : report.rows) {
    kept->rows[key_of(row, report.by)] = {row.self[metric].value, row.self[kAllocated].value};
  }
}

void LiveModel::look(LiveLook look) {
  Report report = report_of(look.profile, choice_);
  before_ = std::move(now_);
  now_ = Kept();
  note(report, &now_);
  now_.profile = std::move(look.profile);
  if (looks_++ == 0) begin_growth();
  report_ = std::move(report);
  resident_bytes_ = look.resident_bytes;
  who_ =
      look.who.empty()
          ? fmt::format("{} (pid {})",
                        report_.program.empty() ? "unknown program" : printable(report_.program), report_.pid)
          : printable(look.who);
  make_rows();
}

void LiveModel::choose(const LiveChoice& choice) {
  const bool is_same_order = choice.sort == choice_.sort && choice.by == choice_.by &&
                             choice.metric == choice_.metric && choice.is_tree == choice_.is_tree;
  if (looks_ != 0) {
    Report report = report_of(now_.profile, choice);
    const Report first = report_of(first_.profile, choice, true);
    note(first, &first_);
    first_calls_ = call_values(first);
    if (looks_ > 1) note(report_of(before_.profile, choice), &before_);
    note(report, &now_);
    report_ = std::move(report);
  }
  choice_ = choice;
  if (!is_same_order) ranks_.forget();
  if (looks_ != 0) make_rows();
}

void LiveModel::count_from_now() {
  begin_growth();
  make_rows();
}

void LiveModel::begin_growth() {
  first_ = now_;
  first_calls_ = choice_.is_tree ? call_values(report_of(first_.profile, choice_, true)) : CallValues();
}

void LiveModel::make_rows() {
  const double elapsed =
      looks_ > 1 ? seconds_between(before_.profile.time_unix_ns, now_.profile.time_unix_ns) : 0;
  const size_t metric = metric_index(choice_.metric);
  std::vector<LiveRow> rows;
  std::vector<RankedValue> values;
  for (const ReportRow& row : report_.rows) {
    LiveRow line;
    line.of = &row;
    line.key = key_of(row, report_.by);
    const auto first = first_.rows.find(line.key);
    const auto before = before_.rows.find(line.key);
    line.growth =
        growth_between(first == first_.rows.end() ? 0 : first->second.value, row.self[metric].value);
    line.allocated_a_second = per_second(before == before_.rows.end() ? 0 : before->second.allocated,
                                         row.self[kAllocated].value, elapsed);
    const bool is_told = row.self[metric].value > 0 || line.growth != 0 || line.allocated_a_second > 0 ||
                         (choice_.sort == LiveSort::kCumulative && row.cumulative[metric].value > 0);
    if (!is_told) continue;
    values.push_back({line.key, sorted_value(line, choice_)});
    rows.push_back(std::move(line));
  }
  tree_growth_ = profile::tree_growth(first_calls_, report_);
  if (order_ == LiveOrder::kExact) ranks_.forget();
  rows_.clear();
  for (const size_t i : ranks_.look(values)) rows_.push_back(std::move(rows[i]));
}

double LiveModel::total_growth() const {
  return growth_between(first_.total.value, now_.total.value);
}

double LiveModel::allocated_a_second() const {
  return looks_ < 2 ? 0
                    : per_second(before_.total.allocated, now_.total.allocated,
                                 seconds_between(before_.profile.time_unix_ns, now_.profile.time_unix_ns));
}

double LiveModel::seconds() const {
  return seconds_between(first_.profile.time_unix_ns, now_.profile.time_unix_ns);
}

}  // namespace memprof::profile
