// SPDX-License-Identifier: Apache-2.0
#include "profile/report/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "profile/lifetimes/temporary.h"
#include "profile/matching/function_match.h"
#include "profile/model/error.h"
#include "profile/model/mapped.h"
#include "profile/model/rate_uses.h"
#include "profile/names/short_name.h"

namespace memprof::profile {
namespace {

// A row while it is summed.
struct Sum {
  Accumulator self;
  Accumulator cumulative;
  NoteSums notes;
  size_t last_stack = SIZE_MAX;  // that was added to cumulative
};

// What each line of a function holds of the metric.
class LineSums {
 public:
  explicit LineSums(Metric metric) : metric_(metric) {}

  void add(const Stack& stack, const std::vector<GroupedFrame>& frames) {
    const double value = estimated_value(stack, metric_);
    for (size_t i = 0; i < frames.size(); ++i) {
      if (frames[i].line <= 0) continue;
      Held& held = sums_[{frames[i].group, frames[i].line}];
      held.first += i == 0 ? value : 0;
      held.second += value;
    }
  }

  // By group: the line that allocates the most itself, else together with what it calls; 0: none is known.
  std::vector<int64_t> heaviest(size_t groups) const {
    std::vector<int64_t> lines(groups);
    std::vector<Held> max(groups);
    for (const auto& [place, held] : sums_) {
      const auto [group, line] = place;
      if (lines[group] != 0 && held <= max[group]) continue;
      lines[group] = line;
      max[group] = held;
    }
    return lines;
  }

 private:
  using Held = std::pair<double, double>;  // itself, with what it calls
  Metric metric_;
  std::map<std::pair<uint32_t, int64_t>, Held> sums_;
};

// Sums by group.
std::vector<Sum> sum_rows(const std::vector<const Stack*>& stacks, Metric metric, FrameGrouping* grouping,
                          LineSums* lines) {
  std::vector<Sum> sums;
  std::vector<GroupedFrame> frames;
  for (size_t i = 0; i < stacks.size(); ++i) {
    Accumulator content;
    content.add(*stacks[i]);
    grouping->frames_of(*stacks[i], &frames);
    lines->add(*stacks[i], frames);
    sums.resize(std::max(sums.size(), grouping->groups().size()));
    Sum& leaf = sums[frames.front().group];
    leaf.self.add(content);
    leaf.notes.add(content.value(metric), *grouping);
    for (const GroupedFrame& frame : frames) {
      Sum& sum = sums[frame.group];
      if (sum.last_stack == i) continue;
      sum.last_stack = i;
      sum.cumulative.add(content);
    }
  }
  return sums;
}

// Of a site that was sampled once, and would most likely not have been.
bool is_single(const Sum& sum, Metric metric) {
  constexpr double kWide = 0.5;
  const auto blocks = static_cast<Metric>(metric_index(metric) & ~size_t{1});
  if (metric_is_apart(metric) || !sum.self.has_interval(metric)) return false;
  if (sum.cumulative.certain(blocks) != 1) return false;
  const double missed = sum.cumulative.missed(metric).mean();
  return missed > kWide * sum.cumulative.value(metric);
}

void add_table(const std::vector<const Stack*>& stacks, const ReportOptions& options, FrameGrouping* grouping,
               Report* report) {
  LineSums line_sums(options.metric);
  const std::vector<Sum> sums = sum_rows(stacks, options.metric, grouping, &line_sums);
  const std::vector<FrameGroup>& groups = grouping->groups();
  const std::vector<int64_t> lines = line_sums.heaviest(groups.size());
  struct Entry {
    size_t group;
    double self;  // of the metric, computed once
    double cumulative;
  };
  std::vector<Entry> order;
  for (size_t i = 0; i < sums.size(); ++i) {
    // A row that nothing was added to is that of frames that are left out.
    if (sums[i].last_stack == SIZE_MAX) continue;
    const Entry entry{i, sums[i].self.value(options.metric), sums[i].cumulative.value(options.metric)};
    if (!options.skip_empty || entry.self != 0 || entry.cumulative != 0) order.push_back(entry);
  }
  // A difference of profiles has values below zero: the largest change comes first.
  std::sort(order.begin(), order.end(), [&groups](const Entry& a, const Entry& b) {
    if (std::abs(a.self) != std::abs(b.self)) return std::abs(a.self) > std::abs(b.self);
    if (std::abs(a.cumulative) != std::abs(b.cumulative))
      return std::abs(a.cumulative) > std::abs(b.cumulative);
    const FrameGroup& x = groups[a.group];
    const FrameGroup& y = groups[b.group];
    return std::tie(x.name, x.file, x.line, x.module) < std::tie(y.name, y.file, y.line, y.module);
  });
  if (options.fold_single) {
    const auto folds = [&](const Entry& entry) { return is_single(sums[entry.group], options.metric); };
    // The first row is what a reader comes for: it stays where there is no other.
    const bool has_others = !std::all_of(order.begin(), order.end(), folds);
    const auto first = order.begin() + (has_others || order.empty() ? 0 : 1);
    Accumulator together;
    for (auto entry = first; entry != order.end(); ++entry) {
      if (folds(*entry)) together.add(sums[entry->group].self);
    }
    const size_t count = order.size();
    order.erase(std::remove_if(first, order.end(), folds), order.end());
    report->single_rows = {count - order.size(), together.estimate(options.metric)};
  }
  report->row_count = order.size();
  for (size_t i = 0; i < order.size() && i < options.max_rows; ++i) {
    const Sum& sum = sums[order[i].group];
    const FrameGroup& group = groups[order[i].group];
    const int64_t line = options.by == GroupBy::kFunction ? lines[order[i].group] : group.line;
    report->rows.push_back({group.name, group.file, line, group.module, sum.notes.notes(order[i].self),
                            sum.self.estimates(), sum.cumulative.estimates()});
  }
}

// Paths of a tree; a small file can ask for many frames.
class Paths {
 public:
  explicit Paths(size_t max_frames) : frames_left_(max_frames) {}

  void add(TreePath path) {
    // A function that calls itself, and calls within a file or module, are one node: what a reader asks is
    // what lies below all of them.
    path.groups.erase(std::unique(path.groups.begin(), path.groups.end()), path.groups.end());
    if (path.groups.size() > frames_left_) {
      throw Error("--tree: the stacks have too many frames for a tree; --focus REGEX takes fewer of them");
    }
    frames_left_ -= path.groups.size();
    if (!path.groups.empty()) paths_.push_back(std::move(path));
  }

  std::vector<TreePath> take() { return std::move(paths_); }

 private:
  size_t frames_left_;
  std::vector<TreePath> paths_;
};

CallTree tree_of(std::vector<TreePath> paths, const ReportOptions& options) {
  if (options.skip_empty) {
    const auto is_empty = [&](const TreePath& path) {
      return estimated_value(*path.stack, options.metric) == 0;
    };
    paths.erase(std::remove_if(paths.begin(), paths.end(), is_empty), paths.end());
  }
  TreeLimits limits = options.tree;
  limits.max_rows = options.max_rows;
  return build_tree(std::move(paths), options.metric, limits);
}

CallTree whole_tree(const std::vector<const Stack*>& stacks, const ReportOptions& options,
                    FrameGrouping* grouping) {
  Paths paths(options.tree.max_frames);
  std::vector<GroupedFrame> frames;
  for (const Stack* stack : stacks) {
    grouping->frames_of(*stack, &frames);
    TreePath path;
    path.stack = stack;
    if (is_by_code(options.by)) {
      for (const std::string& label : root_labels(*stack)) {
        path.groups.push_back(grouping->made_up_group(label));
      }
    }
    if (is_cut(*stack)) path.groups.push_back(grouping->made_up_group(kCutStack));
    for (size_t i = frames.size(); i-- > 0;) path.groups.push_back(frames[i].group);
    paths.add(std::move(path));
  }
  return tree_of(paths.take(), options);
}

// What a user would type for the function: names of templates can fill screens.
std::string typed_name(const std::string& name) {
  constexpr size_t kLongest = 80;
  return name.size() <= kLongest ? name : plain_name(name);
}

// The functions of the grouping that `text` means.
FunctionMatch match_functions(const Profile& profile, const std::string& text, FrameGrouping* grouping) {
  // All stacks' names must be known, selected or not.
  std::vector<GroupedFrame> frames;
  std::vector<bool> is_shown;
  for (const Stack& stack : profile.stacks) {
    grouping->frames_of(stack, &frames);
    is_shown.resize(std::max(is_shown.size(), grouping->functions().size()));
    for (const GroupedFrame& frame : frames) is_shown[frame.function] = true;
  }
  // What is left out of all stacks is no row anywhere.
  std::vector<std::string> names;
  std::vector<uint32_t> index;
  for (uint32_t i = 0; i < is_shown.size(); ++i) {
    if (!is_shown[i]) continue;
    names.push_back(grouping->functions()[i]);
    index.push_back(i);
  }
  FunctionMatch match = find_functions(names, text);
  for (uint32_t& function : match.functions) function = index[function];
  return match;
}

// Throws with what is close if there is none (in a profile that has any).
FunctionMatch functions_for(const Profile& profile, const char* option, const std::string& text,
                            FrameGrouping* grouping) {
  FunctionMatch match = match_functions(profile, text, grouping);
  if (!match.functions.empty() || profile.stacks.empty()) return match;
  std::string error = std::string(option) + ": no function of the profile matches '" + text + "'";
  for (size_t i = 0; i < match.suggestions.size(); ++i) {
    const bool is_last = i + 1 == match.suggestions.size();
    error += (i == 0    ? "; did you mean "
              : is_last ? " or "
                        : ", ") +
             ("'" + typed_name(match.suggestions[i]) + "'");
  }
  if (!match.suggestions.empty()) error += "?";
  if (match.suggestions.empty()) error += "; the table (memprof report FILE) lists those that there are";
  if (!match.pattern_error.empty()) error += " (and " + match.pattern_error + ")";
  throw Error(error);
}

// Who asks for a function that is left out of the tables wants to see it.
bool asks_for_all_frames(const Profile& profile, const ReportOptions& options, FrameGrouping* grouping) {
  FrameView view = view_of_calls(options.view);
  view.all = true;
  for (const auto& text : {options.callers, options.callees}) {
    if (!text || !match_functions(profile, *text, grouping).functions.empty()) continue;
    FrameGrouping whole(profile, options.by, view);
    if (!match_functions(profile, *text, &whole).functions.empty()) return true;
  }
  return false;
}

ReportCalls calls_of(const Profile& profile, const std::vector<const Stack*>& stacks, Direction direction,
                     const std::string& text, const ReportOptions& options, FrameGrouping* grouping) {
  const FunctionMatch match =
      functions_for(profile, direction == Direction::kCallers ? "--callers" : "--callees", text, grouping);
  std::vector<bool> is_wanted(grouping->functions().size());
  ReportCalls calls;
  calls.edges.function = text;
  for (const uint32_t function : match.functions) {
    is_wanted[function] = true;
    calls.edges.matched.push_back(grouping->functions()[function]);
  }
  std::sort(calls.edges.matched.begin(), calls.edges.matched.end());
  EdgeFinder finder(grouping, direction, std::move(is_wanted));
  Paths paths(options.tree.max_frames);
  for (const Stack* stack : stacks) {
    finder.add(*stack);
    if (options.has_tree) paths.add({stack, finder.path_of(*stack)});
  }
  finder.finish(options.metric, options.max_rows, options.skip_empty, &calls.edges);
  if (options.has_tree) calls.tree = tree_of(paths.take(), options);
  return calls;
}

Report header_of(const Profile& profile) {
  Report report;
  report.program = profile.program;
  report.told_apart = profile.told_apart;
  report.pid = profile.pid;
  report.time_unix_ns = profile.time_unix_ns;
  report.duration_ns = profile.duration_ns;
  report.rate_bytes = profile.rate_bytes;
  report.resident = profile.resident;
  report.unseen_heap = unseen_heap(profile);
  report.likely_runtime_heap = likely_runtime_heap(profile);
  if (profile.rates.size() > 1) report.rates = profile.rates;
  report.from_memprof = profile.from_memprof;
  report.origin = origin_of(profile);
  static_cast<ProfileFacts&>(report) = static_cast<const ProfileFacts&>(profile);
  report.temporary_ns = profile.temporary_ns;
  if (profile.temporary_ns != 0) report.unknown_lifetime_bytes = unknown_lifetime_bytes(profile);
  for (const std::string& comment : profile.comments) {
    constexpr size_t kLength = sizeof(kUnseenComment) - 1;
    if (comment.rfind(kUnseenComment, 0) == 0) report.unseen.push_back(comment.substr(kLength));
  }
  report.runtimes = profile.runtimes;
  report.has_metric = profile.has_metric;
  report.unlisted_bound_bytes = unlisted_bound_bytes(coarsest_rate(profile));
  report.health = stack_health(profile);
  std::vector<std::string> files;
  for (const Mapping& mapping : profile.mappings) files.push_back(mapping.path);
  report.cut_runtimes = cut_runtimes(files);
  return report;
}

// The stacks that the rows are of; fills in the sums of these and of all.
std::vector<const Stack*> selected_stacks(const Profile& profile, const StackFilter& filter, Report* report) {
  const std::vector<bool> is_selected = select_stacks(profile, filter);
  std::vector<const Stack*> stacks;
  Accumulator all;
  Accumulator selected;
  for (size_t i = 0; i < profile.stacks.size(); ++i) {
    Accumulator content;
    content.add(profile.stacks[i]);
    all.add(content);
    if (!is_selected[i]) continue;
    selected.add(content);
    stacks.push_back(&profile.stacks[i]);
  }
  report->totals = all.estimates();
  report->selected = filter.is_empty() ? report->totals : selected.estimates();
  report->has_intervals =
      profile.from_memprof && std::all_of(kMetrics, kMetrics + kFirstMetrics, [&](Metric metric) {
        return report->totals[metric_index(metric)].has_interval ||
               report->totals[metric_index(metric)].value == 0;
      });
  report->stacks_without_intervals =
      static_cast<uint64_t>(std::count_if(profile.stacks.begin(), profile.stacks.end(),
                                          [](const Stack& stack) { return !stack.has_statistics; }));
  report->filter = filter_texts(filter);
  return stacks;
}

std::vector<ReportHeap> heaps_of(const std::vector<const Stack*>& stacks, Metric metric) {
  std::map<std::string, Accumulator> sums;
  for (const Stack* stack : stacks) {
    if (stack->heap.empty() || (is_only_apart(*stack) && !metric_is_apart(metric))) continue;
    sums[stack->heap].add(*stack);
  }
  std::vector<ReportHeap> heaps;
  for (const auto& [name, sum] : sums) heaps.push_back({name, sum.estimates()});
  std::sort(heaps.begin(), heaps.end(), [metric](const ReportHeap& a, const ReportHeap& b) {
    const double x = a.values[metric_index(metric)].value;
    const double y = b.values[metric_index(metric)].value;
    return x != y ? x > y : a.name < b.name;
  });
  return heaps;
}

}  // namespace

Report build_report(const Profile& profile, const ReportOptions& options) {
  Report report = header_of(profile);
  report.by = options.by;
  report.metric = options.metric;
  report.has_table = options.has_table;
  report.tree_limits = options.tree;
  const std::vector<const Stack*> stacks = selected_stacks(profile, options.filter, &report);
  FrameView own_view = options.view;
  if (!own_view.all && !own_view.forwarders) own_view.forwarders = find_forwarders({&profile});
  if (!own_view.all) report.forwarders = own_view.forwarders->names();
  if (own_view.hidden) report.hidden = own_view.hidden->text;
  report.heaps = heaps_of(stacks, options.metric);
  report.has_sizes = options.has_sizes;
  if (options.has_sizes) report.sizes = size_rows(stacks);
  if (options.has_table) {
    FrameGrouping rows(profile, options.by, own_view);
    add_table(stacks, options, &rows, &report);
  }
  FrameView view = view_of_calls(own_view);
  if (!view.all && (options.callers || options.callees)) {
    FrameGrouping own(profile, options.by, view);
    view.all = asks_for_all_frames(profile, options, &own);
  }
  FrameGrouping grouping(profile, options.by, view);
  if (options.has_tree && !options.callers && !options.callees) {
    report.tree = whole_tree(stacks, options, &grouping);
  }
  if (options.callers) {
    report.calls.push_back(
        calls_of(profile, stacks, Direction::kCallers, *options.callers, options, &grouping));
  }
  if (options.callees) {
    report.calls.push_back(
        calls_of(profile, stacks, Direction::kCallees, *options.callees, options, &grouping));
  }
  if (options.has_tree) report.groups = grouping.groups();
  return report;
}

}  // namespace memprof::profile
