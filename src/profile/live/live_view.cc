// SPDX-License-Identifier: Apache-2.0
#include "profile/live/live_view.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "profile/matching/pattern.h"
#include "profile/model/error.h"
#include "profile/report/output/report_tree_text.h"
#include "profile/text/text_writer.h"

namespace memprof::profile {
namespace {

using Kind = LiveKey::Kind;

constexpr size_t kLongestPrompt = 1000;  // bytes

// As an expression that matches the text alone.
std::string quoted(const std::string& text) {
  std::string result;
  for (const char c : text) {
    const bool is_plain = std::strchr("\\.+*?()|[]{}^$", c) == nullptr;
    if (!is_plain) result += '\\';
    result += c;
  }
  return result;
}

Metric next_metric(const Report& report, Metric metric) {
  static constexpr Metric kOrder[] = {Metric::kInuseSpace, Metric::kAllocSpace, Metric::kPeakSpace};
  size_t at = static_cast<size_t>(std::find(std::begin(kOrder), std::end(kOrder), metric) - kOrder);
  do at = (at + 1) % std::size(kOrder);
  while (!report.has_metric[metric_index(kOrder[at])] && kOrder[at] != Metric::kInuseSpace);
  return kOrder[at];
}

}  // namespace

LiveView::LiveView(LiveChoice choice, double interval_s)
    : model_(std::move(choice)), interval_s_(interval_s) {}

void LiveView::look(LiveLook look) {
  model_.look(std::move(look));
  follow();
}

void LiveView::end(const std::string& why) {
  end_ = why;
}

size_t LiveView::row_count() const {
  if (!model_.choice().is_tree) return model_.rows().size();
  return tree_lines_.empty() ? 0 : tree_lines_.size() - 1;
}

void LiveView::set_size(size_t width, size_t height, bool has_utf8) {
  width_ = width;
  height_ = height;
  has_utf8_ = has_utf8;
  draw_tree();
  keep_in_sight();
}

// Rows of the table that can be seen.
size_t LiveView::page() const {
  const size_t others = lines_above() + 1;  // the keys
  return height_ > others ? height_ - others : 1;
}

void LiveView::draw_tree() {
  tree_lines_.clear();
  const Report& report = model_.report();
  if (!model_.choice().is_tree || !report.tree || report.tree->nodes.empty()) return;
  TextOptions options;
  options.width = width_;
  options.has_utf8 = has_utf8_;
  options.has_color = true;  // for tones; the frame shows them as its terminal can
  TextWriter writer(options);
  write_tree(report, *report.tree, Direction::kCallees, &writer, TreeFooter::kNone, &model_.tree_growth());
  const std::string text = writer.take();
  for (size_t at = 0; at < text.size();) {
    const size_t end = text.find('\n', at);
    tree_lines_.push_back(text.substr(at, end - at));
    at = end + 1;
  }
}

// The chosen row may have another place now.
void LiveView::follow() {
  draw_tree();
  if (!selected_key_.empty() && !model_.choice().is_tree) {
    const auto& rows = model_.rows();
    const auto found =
        std::find_if(rows.begin(), rows.end(), [&](const LiveRow& row) { return row.key == selected_key_; });
    if (found != rows.end()) selected_ = static_cast<size_t>(found - rows.begin());
  }
  keep_in_sight();
}

void LiveView::keep_in_sight() {
  const size_t count = row_count();
  selected_ = std::min(selected_, count == 0 ? 0 : count - 1);
  if (selected_ < top_) top_ = selected_;
  const size_t rows = page();
  if (selected_ >= top_ + rows) top_ = selected_ + 1 - rows;
  if (top_ + rows > count) top_ = count > rows ? count - rows : 0;
}

void LiveView::move(long rows) {
  const size_t count = row_count();
  if (count == 0) return;
  const long to = static_cast<long>(selected_) + rows;
  selected_ = to < 0 ? 0 : std::min(static_cast<size_t>(to), count - 1);
  // The first row is whatever is on top.
  selected_key_ = selected_ == 0 || model_.choice().is_tree ? "" : model_.rows()[selected_].key;
  keep_in_sight();
}

void LiveView::choose(const LiveChoice& choice) {
  const bool has_other_rows = choice.by != model_.choice().by || choice.is_tree != model_.choice().is_tree;
  try {
    model_.choose(choice);
  } catch (const Error& error) {
    message_ = error.what();
    return;
  }
  if (has_other_rows) selected_key_.clear();
  if (selected_key_.empty()) selected_ = top_ = 0;
  follow();
}

void LiveView::set_filter(const LivePrompt& prompt) {
  LiveChoice choice = model_.choice();
  std::optional<Pattern>& part = prompt.is_ignore ? choice.filter.ignore : choice.filter.focus;
  try {
    part = prompt.text.empty() ? std::nullopt : std::optional(Pattern(prompt.text));
  } catch (const Error& error) {
    message_ = error.what();
    return;  // the prompt stays, to put it right
  }
  prompt_.reset();
  choose(choice);
}

void LiveView::focus_on_selected() {
  if (model_.choice().is_tree || selected_ >= model_.rows().size()) return;
  const std::string name = quoted(model_.rows()[selected_].of->name);
  LiveChoice choice = model_.choice();
  switch (choice.by) {
    case GroupBy::kProcess:
      choice.filter.process = Pattern("^" + name + "$");
      break;
    case GroupBy::kFunction:
    case GroupBy::kLine:
    case GroupBy::kHeap:
      choice.filter.focus = Pattern("^" + name + "$");
      break;
    case GroupBy::kFile:
    case GroupBy::kModule:
    case GroupBy::kThread:
      choice.filter.focus = Pattern(name);
      break;
  }
  if (choice.by == GroupBy::kModule || choice.by == GroupBy::kFile || !is_by_code(choice.by)) {
    choice.by = GroupBy::kFunction;
  }
  choose(choice);
}

void LiveView::press_in_prompt(const LiveKey& key) {
  if (!prompt_) return;
  std::string& text = prompt_->text;
  switch (key.kind) {
    case Kind::kText:
      if (text.size() + key.text.size() <= kLongestPrompt) text += key.text;
      break;
    case Kind::kBackspace:
      while (!text.empty() && (static_cast<unsigned char>(text.back()) & 0xc0) == 0x80) text.pop_back();
      if (!text.empty()) text.pop_back();
      break;
    case Kind::kClearLine:
      text.clear();
      break;
    case Kind::kEscape:
      prompt_.reset();
      break;
    case Kind::kEnter:
      set_filter(LivePrompt(*prompt_));
      break;
    default:
      break;
  }
}

void LiveView::press_letter(char letter) {
  LiveChoice choice = model_.choice();
  const auto sort = [&](LiveSort by) {
    choice.sort = by;
    choice.is_tree = false;
    choose(choice);
  };
  static constexpr GroupBy kRows[] = {GroupBy::kFunction, GroupBy::kLine, GroupBy::kFile,
                                      GroupBy::kModule,   GroupBy::kHeap, GroupBy::kProcess,
                                      GroupBy::kThread};
  if (letter >= '1' && letter <= '7') {
    choice.by = kRows[letter - '1'];
    if (!is_by_code(choice.by)) choice.is_tree = false;
    choose(choice);
    return;
  }
  switch (letter) {
    case 'l':
      return sort(LiveSort::kLive);
    case 'b':
      return sort(LiveSort::kBlocks);
    case 'c':
      return sort(LiveSort::kCumulative);
    case 'g':
      return sort(LiveSort::kGrowth);
    case 'a':
      return sort(LiveSort::kAllocates);
    case 't':
      choice.is_tree = !choice.is_tree;
      if (!is_by_code(choice.by)) choice.by = GroupBy::kFunction;
      return choose(choice);
    case 'm':
      choice.metric = next_metric(model_.report(), choice.metric);
      return choose(choice);
    case '/':
      prompt_ = LivePrompt{false, choice.filter.focus ? choice.filter.focus->text() : ""};
      return;
    case '\\':
      prompt_ = LivePrompt{true, choice.filter.ignore ? choice.filter.ignore->text() : ""};
      return;
    case ' ':
    case 'p':
      if (has_ended()) return;
      is_paused_ = !is_paused_;
      wants_look_ = !is_paused_;
      return;
    case 'z':
      model_.count_from_now();
      return follow();
    case 'r':
      wants_look_ = !has_ended();
      return;
    case '+':
    case '=':
      interval_s_ = std::min(interval_s_ * 2, 3600.0);
      return;
    case '-':
      interval_s_ = std::max(interval_s_ / 2, 0.1);
      return;
    case 'j':
      return move(1);
    case 'k':
      return move(-1);
    case '?':
    case 'h':
      has_help_ = true;
      return;
    default:
      return;
  }
}

LiveEffect LiveView::press(const LiveKey& key) {
  message_.clear();
  if (prompt_) {
    press_in_prompt(key);
    return LiveEffect::kNone;
  }
  if (key.kind == Kind::kText && key.text == "q") {
    if (!has_help_) return LiveEffect::kQuit;
    has_help_ = false;
    return LiveEffect::kNone;
  }
  if (has_help_) {
    has_help_ = false;
    return LiveEffect::kNone;
  }
  const auto page = static_cast<long>(this->page());
  switch (key.kind) {
    case Kind::kText:
      if (key.text.size() == 1) press_letter(key.text[0]);
      break;
    case Kind::kEnter:
      focus_on_selected();
      break;
    case Kind::kEscape: {
      LiveChoice choice = model_.choice();
      choice.filter = {};
      choose(choice);
      break;
    }
    case Kind::kUp:
      move(-1);
      break;
    case Kind::kDown:
      move(1);
      break;
    case Kind::kPageUp:
      move(-page);
      break;
    case Kind::kPageDown:
      move(page);
      break;
    case Kind::kHome:
      move(-static_cast<long>(row_count()));
      break;
    case Kind::kEnd:
      move(static_cast<long>(row_count()));
      break;
    default:
      break;
  }
  return std::exchange(wants_look_, false) ? LiveEffect::kLook : LiveEffect::kNone;
}

}  // namespace memprof::profile
