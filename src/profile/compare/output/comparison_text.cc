// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/output/comparison_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "profile/compare/comparison_cells.h"
#include "profile/compare/output/comparison_columns.h"
#include "profile/memory/resident_change.h"
#include "profile/model/metric.h"
#include "profile/report/place_columns.h"
#include "profile/report/report_cells.h"
#include "profile/text/filter_text.h"
#include "profile/text/text_table.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

class ComparisonText {
 public:
  ComparisonText(const Comparison& comparison, size_t max_rows, const TextOptions& options)
      : comparison_(comparison), max_rows_(max_rows), writer_(options) {}

  std::string text() {
    header();
    if (comparison_.tree) {
      tree(*comparison_.tree);
    } else {
      table("Grew", comparison_.growth);
      table("Shrank", comparison_.shrinkage);
    }
    rest();
    return writer_.take();
  }

  std::string summary() {
    header();
    rest();
    return writer_.take();
  }

 private:
  void say(const std::string& sentence) { writer_.sentence(sentence); }

  void header() {
    say(writer_.bold("Before: ") + printable(side_text(comparison_.before)));
    say(writer_.bold("After:  ") + printable(side_text(comparison_.after)));
    for (const std::string& warning : comparison_.warnings) say("Warning: " + printable(warning));
    if (!comparison_.filter.is_empty()) say(filter_sentence(comparison_.filter) + ".");
    writer_.blank();
    total(comparison_.metric);
    for (const Metric metric : kMetrics) {
      if (metric_is_bytes(metric) && metric != comparison_.metric) total(metric);
    }
    resident();
  }

  void total(Metric metric) {
    if (!comparison_.has_metric[metric_index(metric)]) return;
    std::string title = total_title(metric);
    title[0] = static_cast<char>(title[0] - 'a' + 'A');
    const std::string text = total_text(comparison_, metric);
    say(fmt::format("{:<10} {}", title + ":", metric == comparison_.metric ? writer_.bold(text) : text));
  }

  // Of the whole process, whatever the filter.
  void resident() {
    const ComparedSide& before = comparison_.before;
    const ComparedSide& after = comparison_.after;
    const std::string text = resident_change_text(before.resident, before.max_resident_bytes, after.resident,
                                                  after.max_resident_bytes);
    if (!text.empty()) say(fmt::format("{:<10} {}", "RSS:", text));
  }

  void table(const char* what, const std::vector<ComparisonRow>& rows) {
    if (rows.empty()) return;
    writer_.blank();
    say(writer_.bold(fmt::format("{}: {} {}", what, format_count(static_cast<double>(rows.size())),
                                 row_name(comparison_.by, rows.size()))));
    ChangeTable table{metric_title(comparison_.metric), 0, writer_.options()};
    for (const ComparisonRow& row : rows) {
      table.largest_change = std::max(table.largest_change, std::abs(row.change.value));
    }
    const auto last = rows.begin() + static_cast<std::ptrdiff_t>(std::min(rows.size(), max_rows_));
    const auto fill = place_and_notes_fill<ComparisonRow>(
        group_by_name(comparison_.by), has_places(comparison_.by) ? "place" : "", place_of);
    if (max_rows_ > 0) {
      write_columns(comparison_columns(comparison_, table), rows.begin(), last, fill, &writer_);
    }
    if (rows.size() > max_rows_) {
      writer_.blank();
      say(writer_.faint(fmt::format("{} of {} rows shown; -n {} shows all.",
                                    format_count(static_cast<double>(max_rows_)),
                                    format_count(static_cast<double>(rows.size())), rows.size())));
    }
  }

  std::string guide_of(const ComparisonTree& tree, size_t node) const {
    std::string guide;
    for (size_t at = node; tree.nodes[at].parent != SIZE_MAX; at = tree.nodes[at].parent) {
      bool is_last = true;
      for (size_t i = at + 1; i < tree.nodes.size() && tree.nodes[i].depth >= tree.nodes[at].depth; ++i) {
        is_last = is_last && tree.nodes[i].depth != tree.nodes[at].depth;
      }
      const Signs& signs = writer_.signs();
      guide.insert(
          0, at == node ? (is_last ? signs.last_branch : signs.branch) : (is_last ? signs.blank : signs.bar));
    }
    return guide;
  }

  void tree(const ComparisonTree& tree) {
    if (tree.nodes.empty()) return;
    writer_.blank();
    TextRow titles;
    titles.numbers = {metric_title(comparison_.metric), "before", "after"};
    titles.name_text = group_by_name(comparison_.by);
    TextTable table(std::move(titles));
    table.set_arrow(writer_.signs().calls);
    for (size_t i = 0; i < tree.nodes.size(); ++i) {
      const ComparisonNode& node = tree.nodes[i];
      TextRow row;
      row.numbers = {signed_text(comparison_.metric, node.after - node.before),
                     format_metric(comparison_.metric, node.before),
                     format_metric(comparison_.metric, node.after)};
      row.tones = {change_tone(node.after - node.before)};
      row.guide = guide_of(tree, i);
      for (const uint32_t group : node.groups) row.names.push_back(printable(comparison_.groups[group].name));
      table.add(std::move(row));
    }
    table.write(&writer_);
    writer_.blank();
    say(writer_.faint(fmt::format("Only stacks that end in a {} that changed{}; numbers are of these.",
                                  group_by_name(comparison_.by),
                                  comparison_.is_tested ? " significantly" : "")));
    if (tree.hidden != 0) {
      say(writer_.faint(fmt::format("{} branch{} left out: -n shows more rows.",
                                    format_count(static_cast<double>(tree.hidden)),
                                    tree.hidden == 1 ? "" : "es")));
    }
  }

  void rest() {
    writer_.blank();
    if (comparison_.row_count() == 0) {
      say(fmt::format("Neither side has anything of {}{}.", metric_name(comparison_.metric),
                      !comparison_.filter.is_empty() ? " in these stacks" : ""));
      return;
    }
    if (const std::string others = others_text(comparison_); !others.empty()) say(others);
    say(writer_.faint(method_text(comparison_)));
  }

  const Comparison& comparison_;
  const size_t max_rows_;
  TextWriter writer_;
};

}  // namespace

std::string comparison_text(const Comparison& comparison, size_t max_rows, const TextOptions& options) {
  return ComparisonText(comparison, max_rows, options).text();
}

std::string comparison_summary(const Comparison& comparison) {
  return ComparisonText(comparison, 0, TextOptions()).summary();
}

}  // namespace memprof::profile
