// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/report_tree_text.h"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "profile/report/tree_columns.h"
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
        children_(tree.nodes.size()) {}

  void write(TreeFooter footer_kind) {
    std::vector<size_t> roots;
    for (size_t i = 0; i < tree_.nodes.size(); ++i) {
      const size_t parent = tree_.nodes[i].parent;
      (parent == kNoParent ? roots : children_[parent]).push_back(i);
    }
    const std::vector<TreeRow> all = rows(roots);
    TextTable table = table_of_columns(
        tree_columns(report_, direction_, growth_ != nullptr, writer_.options()), all.begin(), all.end(),
        [this](const TreeRow* row, TextRow* line) { fill(row, line); });
    table.set_arrow(direction_ == Direction::kCallers ? writer_.signs().called_by : writer_.signs().calls);
    table.write(&writer_);
    if (footer_kind == TreeFooter::kOptions) footer();
  }

 private:
  // A row to write, and those under it.
  struct Item {
    TreeRow row;
    std::string below_guide;
  };

  bool says_what_is_hidden(double value) const { return value != 0 && std::abs(value) >= tree_.min_value; }

  TreeRow row_of(size_t index) const {
    TreeRow row{&tree_.nodes[index]};
    if (growth_ != nullptr) row.growth = (*growth_)[index];
    return row;
  }

  // Of a node, or of the whole tree (`is_top`): its children, and what it leaves out (`hidden`).
  void push_children(const std::vector<size_t>& children, TreeRow hidden, bool is_top,
                     const std::string& guide, std::vector<Item>* open) const {
    const Signs& signs = writer_.signs();
    std::vector<Item> items;
    for (const size_t child : children) items.push_back({row_of(child), {}});
    if (says_what_is_hidden(hidden.hidden_value)) items.push_back({std::move(hidden), {}});
    for (size_t i = items.size(); i-- > 0;) {
      const bool is_last = i + 1 == items.size();
      if (!is_top) {
        items[i].row.guide = guide + (is_last ? signs.last_branch : signs.branch);
        items[i].below_guide = guide + (is_last ? signs.blank : signs.bar);
      }
      open->push_back(std::move(items[i]));
    }
  }

  std::vector<TreeRow> rows(const std::vector<size_t>& roots) const {
    std::vector<TreeRow> all;
    std::vector<Item> open;
    push_children(roots, {nullptr, tree_.hidden_roots, tree_.hidden_root_value}, true, "", &open);
    while (!open.empty()) {
      Item item = std::move(open.back());
      open.pop_back();
      const TreeNode* const node = item.row.node;
      all.push_back(std::move(item.row));
      if (node == nullptr) continue;
      push_children(children_[static_cast<size_t>(node - tree_.nodes.data())],
                    {nullptr, node->hidden_children, node->hidden_value}, false, item.below_guide, &open);
    }
    return all;
  }

  // What stands behind the numbers.
  void fill(const TreeRow* row, TextRow* line) const {
    if (row == nullptr) {
      line->name_text = group_by_name(report_.by);
      return;
    }
    line->guide = row->guide;
    if (row->node == nullptr) {
      line->name_text = fmt::format("({} more)", format_count(static_cast<double>(row->hidden_count)));
      return;
    }
    for (const uint32_t group : row->node->groups) line->names.push_back(name(group));
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
  std::vector<std::vector<size_t>> children_;
};

}  // namespace

void write_tree(const Report& report, const CallTree& tree, Direction direction, TextWriter* writer,
                TreeFooter footer, const std::vector<double>* growth) {
  TreeText(report, tree, direction, writer, growth).write(footer);
}

}  // namespace memprof::profile
