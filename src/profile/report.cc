// SPDX-License-Identifier: Apache-2.0
#include "profile/report.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "profile/allocator_frames.h"
#include "profile/frame_name.h"

namespace memprof::profile {
namespace {

constexpr const char kUnknown[] = "[unknown]";

// A row while it is summed.
struct Sum {
  ReportRow row;
  Accumulator self;
  Accumulator cumulative;
  size_t last_stack = SIZE_MAX;  // that was added to cumulative
};

struct RowFrame {
  uint32_t row = 0;
  bool is_allocator = false;
};

class Grouping {
 public:
  Grouping(const Profile& profile, GroupBy by)
      : profile_(profile), by_(by), frames_(profile.locations.size()) {}

  // Rows of a location's frames, innermost first.
  const std::vector<RowFrame>& frames(uint32_t location) {
    std::vector<RowFrame>& known = frames_[location];
    if (known.empty()) {
      for (const Frame& frame : location_frames(profile_, profile_.locations[location])) {
        known.push_back({row_of(frame), frame.is_named && is_allocator(frame.name)});
      }
    }
    return known;
  }

  uint32_t unknown_row() {
    Frame nowhere;
    nowhere.name = kUnknown;
    return row_of(nowhere);
  }

  std::vector<Sum>& sums() { return sums_; }

 private:
  using Key = std::tuple<std::string, std::string, int64_t, std::string>;

  uint32_t row_of(const Frame& frame) {
    Key key;
    switch (by_) {
      case GroupBy::kFunction:
        key = {frame.name, frame.file, 0, frame.module};
        break;
      case GroupBy::kLine:
        key = {frame.name, frame.file, frame.line, frame.module};
        break;
      case GroupBy::kFile:
        // Code without a source file is told apart by its module.
        key = frame.file.empty() ? Key{or_unknown(frame.module), "", 0, frame.module}
                                 : Key{frame.file, frame.file, 0, ""};
        break;
      case GroupBy::kModule:
        key = {or_unknown(frame.module), "", 0, frame.module};
        break;
    }
    const auto [place, is_new] = rows_.emplace(std::move(key), static_cast<uint32_t>(sums_.size()));
    if (is_new) {
      Sum sum;
      std::tie(sum.row.name, sum.row.file, sum.row.line, sum.row.module) = place->first;
      if (by_ == GroupBy::kFunction) sum.row.line = frame.line;
      sums_.push_back(std::move(sum));
    } else if (by_ == GroupBy::kFunction && sums_[place->second].row.line != frame.line) {
      sums_[place->second].row.line = 0;
    }
    return place->second;
  }

  bool is_allocator(const std::string& name) {
    const auto [place, is_new] = allocators_.emplace(name, false);
    if (is_new) place->second = is_allocator_function(name);
    return place->second;
  }

  static std::string or_unknown(const std::string& text) { return text.empty() ? kUnknown : text; }

  const Profile& profile_;
  const GroupBy by_;
  std::vector<std::vector<RowFrame>> frames_;
  std::map<Key, uint32_t> rows_;
  std::map<std::string, bool> allocators_;
  std::vector<Sum> sums_;
};

void add_stack(Grouping& grouping, const Stack& stack, size_t index, const Accumulator& content) {
  std::vector<uint32_t> rows;  // leaf first
  uint32_t outermost_allocator = 0;
  bool has_allocator = false;
  for (const uint32_t location : stack.locations) {
    for (const RowFrame& frame : grouping.frames(location)) {
      if (rows.empty() && frame.is_allocator) {
        outermost_allocator = frame.row;
        has_allocator = true;
        continue;
      }
      rows.push_back(frame.row);
    }
  }
  if (rows.empty()) rows.push_back(has_allocator ? outermost_allocator : grouping.unknown_row());
  std::vector<Sum>& sums = grouping.sums();
  sums[rows.front()].self.add(content);
  for (const uint32_t row : rows) {
    if (sums[row].last_stack == index) continue;
    sums[row].last_stack = index;
    sums[row].cumulative.add(content);
  }
}

std::array<Estimate, kMetricCount> estimates(const Accumulator& accumulator) {
  std::array<Estimate, kMetricCount> all;
  for (const Metric metric : kMetrics) all[metric_index(metric)] = accumulator.estimate(metric);
  return all;
}

Report header_of(const Profile& profile) {
  Report report;
  report.program = profile.program;
  report.pid = profile.pid;
  report.time_unix_ns = profile.time_unix_ns;
  report.duration_ns = profile.duration_ns;
  report.rate_bytes = profile.rate_bytes;
  report.from_memprof = profile.from_memprof;
  report.samples = profile.samples;
  report.live_samples = profile.live_samples;
  report.dropped_samples = profile.dropped_samples;
  report.dropped_weight_bytes = profile.dropped_weight_bytes;
  report.replaced_samples = profile.replaced_samples;
  report.has_metric = profile.has_metric;
  report.unlisted_bound_bytes = unlisted_bound_bytes(profile.rate_bytes);
  double walks = 0;
  for (const uint64_t count : profile.walks) walks += static_cast<double>(count);
  if (walks > 0) {
    report.complete_stacks = static_cast<double>(profile.walks[static_cast<size_t>(Walk::kRoot)]) / walks;
  }
  return report;
}

}  // namespace

const char* group_by_name(GroupBy by) {
  static constexpr const char* kNames[] = {"function", "line", "file", "module"};
  return kNames[static_cast<size_t>(by)];
}

std::optional<GroupBy> group_by_from_name(std::string_view name) {
  for (const GroupBy by : {GroupBy::kFunction, GroupBy::kLine, GroupBy::kFile, GroupBy::kModule}) {
    if (name == group_by_name(by)) return by;
  }
  return std::nullopt;
}

Metric default_metric(const Profile& profile) {
  for (const Metric metric :
       {Metric::kInuseSpace, Metric::kAllocSpace, Metric::kInuseObjects, Metric::kAllocObjects}) {
    if (profile.has_metric[metric_index(metric)]) return metric;
  }
  return Metric::kInuseSpace;
}

Report build_report(const Profile& profile, const ReportOptions& options) {
  Report report = header_of(profile);
  report.by = options.by;
  report.metric = options.metric;

  Grouping grouping(profile, options.by);
  Accumulator total;
  for (size_t i = 0; i < profile.stacks.size(); ++i) {
    Accumulator content;
    content.add(profile.stacks[i]);
    total.add(content);
    add_stack(grouping, profile.stacks[i], i, content);
  }
  report.totals = estimates(total);
  report.has_intervals = profile.from_memprof && report.totals[0].has_interval;

  struct Entry {
    const Sum* sum;
    double self;  // of the metric, computed once
    double cumulative;
  };
  std::vector<Entry> order;
  for (const Sum& sum : grouping.sums()) {
    // A row that nothing was added to is that of an allocator's function.
    if (sum.last_stack == SIZE_MAX) continue;
    const Entry entry{&sum, sum.self.value(options.metric), sum.cumulative.value(options.metric)};
    if (!options.skip_empty || entry.self != 0 || entry.cumulative != 0) order.push_back(entry);
  }
  std::sort(order.begin(), order.end(), [](const Entry& a, const Entry& b) {
    if (a.self != b.self) return a.self > b.self;
    if (a.cumulative != b.cumulative) return a.cumulative > b.cumulative;
    const ReportRow& x = a.sum->row;
    const ReportRow& y = b.sum->row;
    return std::tie(x.name, x.file, x.line, x.module) < std::tie(y.name, y.file, y.line, y.module);
  });
  report.row_count = order.size();
  for (size_t i = 0; i < order.size() && i < options.max_rows; ++i) {
    ReportRow row = order[i].sum->row;
    row.self = estimates(order[i].sum->self);
    row.cumulative = estimates(order[i].sum->cumulative);
    report.rows.push_back(std::move(row));
  }
  return report;
}

}  // namespace memprof::profile
