// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/comparison.h"

#include <algorithm>
#include <cmath>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "profile/compare/comparison_facts.h"
#include "profile/compare/row_matching.h"
#include "profile/model/metric.h"
#include "profile/significance/benjamini_hochberg.h"

namespace memprof::profile {
namespace {

struct Row {
  SideSum sides[2];
  double cumulative[2] = {0, 0};
  NoteSums notes[2];
  double noted[2] = {0, 0};  // that the notes are of: all files of the side together
};

// One file, as the tree reads it again.
struct Read {
  const Profile* profile;
  size_t side;
  FrameGrouping grouping;
  std::vector<bool> is_selected;
  std::vector<uint32_t> rows;  // of its groups
};

class Comparer {
 public:
  Comparer(const ComparisonOptions& options, Comparison* result)
      : options_(options), result_(*result), matching_(options.by) {}

  void add(size_t side, const Profile& profile) {
    Read& read =
        reads_.emplace_back(Read{&profile, side, FrameGrouping(profile, options_.by, options_.view), {}, {}});
    read.is_selected = select_stacks(profile, options_.filter);
    std::vector<Accumulator> self;
    std::vector<double> cumulative;
    std::vector<NoteSums> notes;
    std::vector<size_t> last_stack;
    Accumulator total;
    std::vector<GroupedFrame> frames;
    for (size_t i = 0; i < profile.stacks.size(); ++i) {
      if (!read.is_selected[i]) continue;
      const Stack& stack = profile.stacks[i];
      Accumulator content;
      content.add(stack);
      total.add(content);
      frames_of(stack, &read, &frames);
      self.resize(read.grouping.groups().size());
      cumulative.resize(self.size());
      notes.resize(self.size());
      last_stack.resize(self.size(), SIZE_MAX);
      self[frames.front().group].add(content);
      const double value = content.value(result_.metric);
      notes[frames.front().group].add(value, read.grouping);
      for (const GroupedFrame& frame : frames) {
        if (last_stack[frame.group] == i) continue;
        last_stack[frame.group] = i;
        cumulative[frame.group] += value;
      }
    }
    self.resize(read.grouping.groups().size());
    cumulative.resize(self.size());
    notes.resize(self.size());
    totals_[side].add_file(total);
    read.rows = matching_.add(profile, read.grouping.groups());
    add_rows(side, read.rows, self, cumulative, notes);
  }

  void finish() {
    const SideFacts& before = result_.before.facts;
    const SideFacts& after = result_.after.facts;
    for (const Metric metric : kMetrics) {
      if (!result_.has_metric[metric_index(metric)]) continue;
      result_.totals[metric_index(metric)] = whole_change(totals_[0], totals_[1], before, after, metric);
    }
    std::vector<uint32_t> tested;
    std::vector<Change> changes;
    for (uint32_t i = 0; i < rows_.size(); ++i) {
      if (rows_[i].sides[0].sum().value(result_.metric) == 0 &&
          rows_[i].sides[1].sum().value(result_.metric) == 0) {
        continue;
      }
      tested.push_back(i);
      changes.push_back(tested_change(rows_[i].sides[0], rows_[i].sides[1], before, after, result_.metric));
    }
    divide(tested, changes);
    if (options_.has_tree) add_tree();
  }

 private:
  void frames_of(const Stack& stack, Read* read, std::vector<GroupedFrame>* frames) {
    read->grouping.frames_of(stack, frames);
    if (!options_.has_tree) return;
    // For the tree; they have to be known when rows are matched.
    static_cast<void>(root_groups(stack, read));
  }

  // What stands before a stack's frames in a tree, the outermost first.
  std::vector<uint32_t> root_groups(const Stack& stack, Read* read) const {
    std::vector<uint32_t> groups;
    if (!stack.heap.empty() && is_by_code(options_.by)) {
      groups.push_back(read->grouping.made_up_group("[heap " + stack.heap + "]"));
    }
    if (is_cut(stack)) groups.push_back(read->grouping.made_up_group("[stack cut]"));
    return groups;
  }

  void add_rows(size_t side, const std::vector<uint32_t>& rows, const std::vector<Accumulator>& self,
                const std::vector<double>& cumulative, const std::vector<NoteSums>& notes) {
    rows_.resize(matching_.rows().size());
    const double files = static_cast<double>(facts(side).files);
    // Several groups may be one row: lines of a function that code moved to, say.
    std::map<uint32_t, Accumulator> sums;
    for (size_t i = 0; i < rows.size(); ++i) {
      sums[rows[i]].add(self[i]);
      Row& row = rows_[rows[i]];
      row.cumulative[side] += cumulative[i] / files;
      row.notes[side].add(notes[i]);
      row.noted[side] += self[i].value(result_.metric);
    }
    for (const auto& [row, sum] : sums) rows_[row].sides[side].add_file(sum);
  }

  const SideFacts& facts(size_t side) const { return (side == 0 ? result_.before : result_.after).facts; }

  ComparisonRow row_of(uint32_t index, const Change& change, double corrected) const {
    ComparisonRow row;
    row.group = matching_.rows()[index];
    row.change = change;
    // Lines move between two versions of a program: of the side that has more.
    const Row& sums = rows_[index];
    const size_t side = std::abs(sums.noted[1]) >= std::abs(sums.noted[0]) ? 1 : 0;
    row.notes = sums.notes[side].notes(sums.noted[side]);
    row.corrected_p = corrected;
    row.cumulative_before = rows_[index].cumulative[0];
    row.cumulative_after = rows_[index].cumulative[1];
    return row;
  }

  void divide(const std::vector<uint32_t>& tested, const std::vector<Change>& changes) {
    std::vector<double> p_values;
    for (const Change& change : changes) {
      p_values.push_back(change.p_value);
      result_.is_tested = result_.is_tested || change.is_tested;
    }
    const std::vector<double> corrected = benjamini_hochberg(p_values);
    listed_.assign(rows_.size(), 0);
    for (size_t i = 0; i < tested.size(); ++i) {
      ComparisonRow row = row_of(tested[i], changes[i], corrected[i]);
      row.is_significant = row.change.is_tested && row.change.value != 0 && corrected[i] <= kSignificance;
      row.index = tested[i];
      if (!row.is_significant && (row.change.is_tested || row.change.value == 0)) {
        result_.others_before += row.change.before.value;
        result_.others_after += row.change.after.value;
        result_.others.push_back(std::move(row));
        continue;
      }
      const bool is_growth = row.change.value > 0;
      listed_[tested[i]] = is_growth ? 1 : -1;
      (is_growth ? result_.growth : result_.shrinkage).push_back(std::move(row));
    }
    for (auto* list : {&result_.growth, &result_.shrinkage, &result_.others}) {
      std::sort(list->begin(), list->end(), [](const ComparisonRow& a, const ComparisonRow& b) {
        if (std::abs(a.change.value) != std::abs(b.change.value)) {
          return std::abs(a.change.value) > std::abs(b.change.value);
        }
        return std::tie(a.group.name, a.group.file, a.group.line, a.group.module) <
               std::tie(b.group.name, b.group.file, b.group.line, b.group.module);
      });
      const bool is_listed = list != &result_.others;
      const size_t max = options_.has_all_intervals ? SIZE_MAX : is_listed ? options_.max_intervals : 0;
      for (size_t i = 0; i < std::min(max, list->size()); ++i) {
        ComparisonRow& row = (*list)[i];
        row.change = whole_change(rows_[row.index].sides[0], rows_[row.index].sides[1], facts(0), facts(1),
                                  result_.metric);
      }
    }
  }

  void add_tree() {
    std::vector<ComparisonPath> paths;
    std::vector<GroupedFrame> frames;
    for (Read& read : reads_) {
      for (size_t i = 0; i < read.profile->stacks.size(); ++i) {
        const Stack& stack = read.profile->stacks[i];
        if (!read.is_selected[i]) continue;
        read.grouping.frames_of(stack, &frames);
        const int listed = listed_[read.rows[frames.front().group]];
        if (listed == 0) continue;
        ComparisonPath path;
        path.is_growth = listed > 0;
        (read.side == 0 ? path.before : path.after) =
            estimated_value(stack, result_.metric) / static_cast<double>(facts(read.side).files);
        for (const uint32_t group : root_groups(stack, &read)) path.groups.push_back(read.rows[group]);
        for (size_t j = frames.size(); j-- > 0;) path.groups.push_back(read.rows[frames[j].group]);
        path.groups.erase(std::unique(path.groups.begin(), path.groups.end()), path.groups.end());
        paths.push_back(std::move(path));
      }
    }
    result_.tree = build_comparison_tree(std::move(paths), options_.max_tree_rows);
    result_.groups = matching_.rows();
  }

  const ComparisonOptions& options_;
  Comparison& result_;
  RowMatching matching_;
  std::deque<Read> reads_;
  std::vector<Row> rows_;
  std::vector<int> listed_;  // by row: 1 grew, -1 shrank, 0 neither
  SideSum totals_[2];
};

}  // namespace

Comparison compare(const std::vector<ComparedProfile>& before, const std::vector<ComparedProfile>& after,
                   const ComparisonOptions& options) {
  Comparison result = comparison_facts(before, after, options.metric);
  result.by = options.by;
  result.filter = filter_texts(options.filter);
  ComparisonOptions alike = options;
  if (!alike.view.all && !alike.view.forwarders) {
    std::vector<const Profile*> profiles;
    for (const auto* side : {&before, &after}) {
      for (const ComparedProfile& one : *side) profiles.push_back(&one.profile);
    }
    alike.view.forwarders = find_forwarders(profiles);
  }
  Comparer comparer(alike, &result);
  for (const ComparedProfile& one : before) comparer.add(0, one.profile);
  for (const ComparedProfile& one : after) comparer.add(1, one.profile);
  comparer.finish();
  return result;
}

}  // namespace memprof::profile
