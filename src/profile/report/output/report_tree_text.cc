// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/report_tree_text.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "profile/report/report_cells.h"
#include "profile/text/text_table.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

class TreeText {
 public:
  TreeText(const Report& report, const CallTree& tree, Direction direction, TextWriter* writer,
           const std::vector<double>* growth)
      : report_(report),
        tree_(tree),
        direction_(direction),
        writer_(*writer),
        growth_(growth),
        companion_(metric_is_resident(report.metric) ? companions(report.metric)[1]
                                                     : companions(report.metric)[0]),
        whole_(report.totals[metric_index(report.metric)].value),
        children_(tree.nodes.size()) {}

  void write(TreeFooter footer_kind) {
    std::vector<size_t> roots;
    for (size_t i = 0; i < tree_.nodes.size(); ++i) {
      const size_t parent = tree_.nodes[i].parent;
      (parent == kNoParent ? roots : children_[parent]).push_back(i);
    }
    TextRow titles;
    titles.numbers = {metric_title(report_.metric), writer_.signs().plus_minus, "%", "self",
                      metric_title(companion_)};
    titles.name_text = group_by_name(report_.by);
    if (direction_ == Direction::kCallers) titles.numbers.erase(titles.numbers.begin() + kSelf);
    if (growth_ != nullptr) titles.numbers.emplace_back("growth");
    TextTable table(std::move(titles));
    if (growth_ == nullptr) {
      table.set_optional({1}, {kSelf});
    } else {
      table.set_optional({1, kCompanion}, {kSelf});
    }
    table.set_arrow(direction_ == Direction::kCallers ? writer_.signs().called_by : writer_.signs().calls);
    rows(roots, &table);
    table.write(&writer_);
    if (footer_kind == TreeFooter::kOptions) footer();
  }

 private:
  static constexpr size_t kSelf = 3;       // column, of callees
  static constexpr size_t kCompanion = 4;  // column, of callees

  // A node to write, or kNoParent for what `parent` hides.
  struct Item {
    size_t node;
    size_t parent;
    std::string guide;        // of its own row
    std::string below_guide;  // of those under it
  };

  bool says_what_is_hidden(double value) const { return value != 0 && std::abs(value) >= tree_.min_value; }

  void push_children(const std::vector<size_t>& children, size_t parent, double hidden_value,
                     const std::string& guide, std::vector<Item>* open) const {
    const Signs& signs = writer_.signs();
    const bool is_top = parent == kNoParent;
    std::vector<Item> items;
    for (const size_t child : children) items.push_back({child, parent, {}, {}});
    if (says_what_is_hidden(hidden_value)) items.push_back({kNoParent, parent, {}, {}});
    for (size_t i = items.size(); i-- > 0;) {
      const bool is_last = i + 1 == items.size();
      if (!is_top) {
        items[i].guide = guide + (is_last ? signs.last_branch : signs.branch);
        items[i].below_guide = guide + (is_last ? signs.blank : signs.bar);
      }
      open->push_back(std::move(items[i]));
    }
  }

  void rows(const std::vector<size_t>& roots, TextTable* table) const {
    std::vector<Item> open;
    push_children(roots, kNoParent, tree_.hidden_root_value, "", &open);
    while (!open.empty()) {
      const Item item = std::move(open.back());
      open.pop_back();
      table->add(item.node == kNoParent ? hidden_row(item) : row(item));
      if (item.node == kNoParent) continue;
      push_children(children_[item.node], item.node, tree_.nodes[item.node].hidden_value, item.below_guide,
                    &open);
    }
  }

  std::string name(uint32_t index) const {
    const FrameGroup& group = report_.groups[index];
    const std::string file = group.file.substr(group.file.rfind('/') + 1);  // npos + 1 is 0
    if (report_.by == GroupBy::kLine && !file.empty() && group.line > 0) {
      return printable(fmt::format("{} ({}:{})", group.name, file, group.line));
    }
    // `<module>`, `<lambda>`: every file has one.
    const bool has_no_name = group.name.front() == '<' && group.name.back() == '>';
    if (report_.by == GroupBy::kFunction && has_no_name && !file.empty()) {
      return printable(fmt::format("{} ({})", group.name, last_two(group.file)));
    }
    return printable(group.name);
  }

  // `core/frame.py` of a path: files called `__init__.py` are many.
  static std::string last_two(const std::string& path) {
    const size_t last = path.rfind('/');
    if (last == std::string::npos || last == 0) return path;
    return path.substr(path.rfind('/', last - 1) + 1);
  }

  TextRow row(const Item& item) const {
    const TreeNode& node = tree_.nodes[item.node];
    const size_t metric = metric_index(report_.metric);
    TextRow row;
    row.numbers = {value_cell(report_, report_.metric, node.cumulative),
                   plus_minus_cell(report_, node.cumulative[metric]),
                   percent_cell(node.cumulative[metric].value, whole_)};
    if (direction_ != Direction::kCallers) {
      row.numbers.push_back(value_cell(report_, report_.metric, node.self));
    }
    row.numbers.push_back(value_cell(report_, companion_, node.cumulative));
    if (growth_ != nullptr) {
      const double growth = (*growth_)[item.node];
      row.tones.resize(row.numbers.size());
      row.numbers.push_back(format_signed_bytes(growth));
      row.tones.push_back(change_tone(growth));
    }
    row.guide = item.guide;
    for (const uint32_t group : node.groups) row.names.push_back(name(group));
    return row;
  }

  TextRow hidden_row(const Item& item) const {
    const bool is_top = item.parent == kNoParent;
    const size_t count = is_top ? tree_.hidden_roots : tree_.nodes[item.parent].hidden_children;
    const double value = is_top ? tree_.hidden_root_value : tree_.nodes[item.parent].hidden_value;
    TextRow row;
    row.numbers = {format_metric(report_.metric, value), "", percent_cell(value, whole_), "", ""};
    if (direction_ == Direction::kCallers) row.numbers.pop_back();
    if (growth_ != nullptr) row.numbers.emplace_back();
    row.guide = item.guide;
    row.name_text = fmt::format("({} more)", format_count(static_cast<double>(count)));
    return row;
  }

  void footer() {
    writer_.blank();
    const size_t hidden = tree_.hidden_nodes();
    if (hidden == 0) return;
    const double min = report_.tree_limits.min_percent;
    writer_.sentence(writer_.faint(fmt::format(
        "{} row{}; {} branch{} left out: -n shows more rows, --min-percent smaller ones (now {:g}){}.",
        format_count(static_cast<double>(tree_.nodes.size())), tree_.nodes.size() == 1 ? "" : "s",
        format_count(static_cast<double>(hidden)), hidden == 1 ? "" : "es", min,
        report_.tree_limits.max_depth == SIZE_MAX ? "" : ", --depth deeper ones")));
  }

  const Report& report_;
  const CallTree& tree_;
  const Direction direction_;
  TextWriter& writer_;
  const std::vector<double>* const growth_;
  const Metric companion_;
  const double whole_;
  std::vector<std::vector<size_t>> children_;
};

}  // namespace

void write_tree(const Report& report, const CallTree& tree, Direction direction, TextWriter* writer,
                TreeFooter footer, const std::vector<double>* growth) {
  TreeText(report, tree, direction, writer, growth).write(footer);
}

}  // namespace memprof::profile
