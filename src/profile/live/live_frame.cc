// SPDX-License-Identifier: Apache-2.0
#include "profile/live/live_frame.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "profile/live/live_columns.h"
#include "profile/live/live_help.h"
#include "profile/live/live_text.h"
#include "profile/memory/resident_text.h"
#include "profile/names/short_name.h"
#include "profile/report/report_cells.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

constexpr Style kBold = {Color::kNone, true, false, false};
constexpr Style kFaint = {Color::kNone, false, true, false};
constexpr Style kReverse = {Color::kNone, false, false, true};
constexpr Style kBars = {Color::kCyan, false, false, false};
constexpr Style kAlarm = {Color::kRed, true, false, true};

constexpr size_t kGap = 2;
constexpr size_t kLiveWidth = 16;  // "Live: 999.9 MiB", at most

Style style_of(Tone tone) {
  static constexpr Style kStyles[] = {
      {}, kBold, kFaint, {Color::kRed, false, false, false}, {Color::kGreen, false, false, false}, kBars};
  return kStyles[static_cast<size_t>(tone)];
}

Style change_style(double change) {
  return style_of(change_tone(change));
}

class LiveFrame {
 public:
  explicit LiveFrame(const LiveView& view)
      : view_(view),
        model_(view.model()),
        report_(model_.report()),
        columns_(live_columns(model_, options())),
        cells_(view.width(), view.height()) {
    drop_columns();
  }

  Cells draw() {
    header();
    if (view_.has_help()) {
      help();
    } else if (model_.choice().is_tree) {
      tree();
    } else {
      table();
    }
    last_line();
    return std::move(cells_);
  }

 private:
  TextOptions options() const {
    TextOptions options;
    options.has_utf8 = view_.has_utf8();
    options.has_bars = true;
    return options;
  }
  // Numbers and signs of ours.
  std::string text(const std::string& utf8) const {
    TextWriter writer(options());
    writer.line(utf8);
    std::string line = writer.take();
    line.pop_back();
    return line;
  }

  std::string interval_text() const {
    const double seconds = view_.interval_s();
    return seconds < 10 ? fmt::format("{:.2g}", seconds) : fmt::format("{:.0f}", seconds);
  }

  // Who, and what all rows together are.
  void header() {
    const std::string state =
        view_.has_ended() ? "ENDED"
        : view_.is_paused()
            ? "PAUSED"
            : fmt::format("every {} s{}", interval_text(), view_.is_held_back() ? " (2 % of a core)" : "");
    const size_t end = cells_.width() > state.size() + 1 ? cells_.width() - state.size() - 1 : 0;
    size_t column = cells_.put_until(0, 0, end, text(model_.who()), kBold);
    cells_.put_until(0, column, end, text(sampling_text()));
    cells_.put_right(0, cells_.width(), state, view_.has_ended() || view_.is_paused() ? kAlarm : kFaint);
    if (view_.lines_above() < 5) return;
    column = cells_.put(1, 0, "Live: ");
    column =
        cells_.put(1, column, format_bytes(report_.selected[metric_index(Metric::kInuseSpace)].value), kBold);
    cells_.put(1, column, live_rest());
    column = cells_.put(2, 0, fmt::format("Growth in {}: ", seconds_text(model_.seconds())));
    const double growth = model_.total_growth();
    column = cells_.put(2, column, format_signed_bytes(growth), change_style(growth));
    cells_.put(2, column, "; allocates " + bytes_a_second(model_.allocated_a_second()));
    cells_.put(3, 0, text(choice_text()), kFaint);
  }

  static std::string seconds_text(double seconds) {
    return seconds < 300 ? fmt::format("{:.0f} s", seconds) : format_duration_ns(seconds * 1e9);
  }

  std::string sampling_text() const {
    return fmt::format(", {} sampled at {}", seconds_text(static_cast<double>(report_.duration_ns) / 1e9),
                       report_.rate_bytes <= 1 ? "0 (every allocation)" : format_rate(report_.rate_bytes)) +
           (report_.dropped_samples == 0
                ? ""
                : fmt::format(", {} dropped", format_count(static_cast<double>(report_.dropped_samples))));
  }

  std::string live_rest() const {
    const Estimate& live = report_.selected[metric_index(Metric::kInuseSpace)];
    std::string rest;
    if (live.has_interval && live.low != live.high) {
      rest += fmt::format(" (95 %: {} to {})", format_bytes(live.low), format_bytes(live.high));
    }
    rest += fmt::format(" in {} blocks",
                        format_count(report_.selected[metric_index(Metric::kInuseObjects)].value));
    if (model_.resident_bytes() == 0) return rest;
    rest += "; resident: ";
    const std::string parts = resident_line(report_.resident);
    const bool has_room =
        report_.resident.is_known() && kLiveWidth + rest.size() + parts.size() <= cells_.width();
    return rest + (has_room ? parts : format_bytes(static_cast<double>(model_.resident_bytes())));
  }

  // What the viewer has asked for.
  std::string choice_text() const {
    const LiveChoice& choice = model_.choice();
    std::string text =
        choice.is_tree ? std::string("Tree of calls") : fmt::format("By {}", group_by_name(choice.by));
    text += fmt::format(", {}", metric_title(choice.metric));
    if (!choice.is_tree) {
      text += fmt::format(", ordered by {}", choice.sort == LiveSort::kLive ? metric_title(choice.metric)
                                                                            : live_sort_name(choice.sort));
    }
    if (choice.filter.focus) text += fmt::format("; focus '{}'", choice.filter.focus->text());
    if (choice.filter.ignore) text += fmt::format("; ignore '{}'", choice.filter.ignore->text());
    if (choice.filter.process) text += fmt::format("; process '{}'", choice.filter.process->text());
    return text;
  }

  size_t numbers_width() const {
    size_t width = 0;
    for (const LiveColumn& column : columns_) width += column.width + kGap;
    return width;
  }

  // The wider the terminal, the more of it is for names and places.
  void drop_columns() {
    constexpr size_t kMinText = 28;
    constexpr size_t kNarrow = 80;
    const size_t width = cells_.width();
    const size_t wanted = kMinText + (width > kNarrow ? (width - kNarrow) / 2 : 0);
    while (numbers_width() + wanted > width) {
      size_t first = columns_.size();
      for (size_t i = 0; i < columns_.size(); ++i) {
        const int rank = columns_[i].column.left_out;
        if (rank != kStays && (first == columns_.size() || rank < columns_[first].column.left_out)) first = i;
      }
      if (first == columns_.size()) return;
      columns_.erase(columns_.begin() + static_cast<std::ptrdiff_t>(first));
    }
  }

  void titles(size_t row) {
    size_t end = 0;
    for (const LiveColumn& column : columns_) {
      end += column.width;
      const bool is_sorted = column.sort == model_.choice().sort;
      const char* const sign = !is_sorted ? "" : view_.has_utf8() ? "▼" : "*";
      cells_.put_right(row, end, sign + column.column.title);
      end += kGap;
    }
    cells_.put(row, end, group_by_name(report_.by));
    if (has_places()) cells_.put(row, place_column(), "file:line");
    cells_.set_style(row, {Color::kNone, true, false, true});
  }

  bool has_places() const {
    constexpr size_t kMinRoom = 44;
    return profile::has_places(report_.by) && cells_.width() >= numbers_width() + kMinRoom;
  }
  // Where the place begins: two thirds are for the name.
  size_t place_column() const {
    const size_t room = cells_.width() - numbers_width();
    return numbers_width() + room * 2 / 3;
  }

  void table() {
    const size_t first = view_.lines_above();
    titles(first - 1);
    if (model_.rows().empty()) {
      cells_.put(first, 0, why_nothing_is_live(report_));
      return;
    }
    const size_t last = cells_.height() - 1;
    for (size_t row = first; row < last; ++row) {
      const size_t i = view_.top() + row - first;
      if (i >= model_.rows().size()) return;
      line(row, model_.rows()[i]);
      if (i == view_.selected()) cells_.set_style(row, kReverse);
    }
  }

  void line(size_t row, const LiveRow& shown) {
    const ReportRow& of = *shown.of;
    size_t column = 0;
    for (const LiveColumn& one : columns_) {
      const Tone tone = one.column.tone ? one.column.tone(shown) : Tone::kPlain;
      cells_.put_right(row, column + one.width, one.column.cell(shown), style_of(tone));
      column += one.width + kGap;
    }
    const size_t end = has_places() ? place_column() - kGap : cells_.width();
    const size_t room = end > column ? end - column : 0;
    column = cells_.put_until(row, column, end, text(short_name(printable(of.name), room)));
    put_note(row, column + kGap, end, of.notes);
    if (!has_places()) return;
    const std::string place = printable(place_cell(of.name, of.file, of.line, of.module));
    cells_.put(row, place_column(), text(short_path(place, cells_.width() - place_column())), kFaint);
  }

  // What stands beside a line of a language's runtime, where there is room after its name.
  void put_note(size_t row, size_t column, size_t end, const RowNotes& notes) {
    constexpr size_t kMinRoom = 16;
    const std::vector<std::string> texts = note_cells(notes);
    if (texts.empty() || column + kMinRoom > end) return;
    const auto fits = std::find_if(texts.begin(), texts.end(), [&](const std::string& note) {
      return text_width(printable(note)) <= end - column;
    });
    const std::string& note = fits == texts.end() ? texts.back() : *fits;
    cells_.put_until(row, column, end, text(short_name(printable(note), end - column)), kFaint);
  }

  void put_toned(size_t row, const std::string& line) {
    size_t column = 0;
    for (const TonedText& part : toned_parts(line)) {
      column = cells_.put(row, column, part.text, style_of(part.tone));
    }
  }

  void tree() {
    const size_t first = view_.lines_above();
    const auto& lines = view_.tree_lines();
    if (lines.empty()) {
      cells_.put(first, 0, why_nothing_is_live(report_));
      return;
    }
    put_toned(first - 1, lines[0]);
    cells_.set_style(first - 1, {Color::kNone, true, false, true});
    for (size_t row = first; row + 1 < cells_.height(); ++row) {
      const size_t i = view_.top() + row - first;
      if (i + 1 >= lines.size()) return;
      put_toned(row, lines[i + 1]);
      if (i == view_.selected()) cells_.set_style(row, kReverse);
    }
  }

  void help() {
    size_t row = view_.lines_above();
    cells_.put(row - 1, 0, "Keys (any of them ends this help)");
    cells_.set_style(row - 1, {Color::kNone, true, false, true});
    constexpr size_t kKeyWidth = 14;
    for (const LiveHelp& line : live_help()) {
      if (row + 1 >= cells_.height()) return;
      cells_.put(row, 0, line.keys, kBold);
      cells_.put(row++, kKeyWidth, line.what);
    }
  }

  void last_line() {
    const size_t row = cells_.height() - 1;
    if (cells_.height() < 2) return;
    if (const auto& prompt = view_.prompt()) {
      // The end of a long one is what is being typed.
      const std::string title = prompt->is_ignore ? "Ignore (Enter, Esc): " : "Focus (Enter, Esc): ";
      const size_t column = cells_.put(row, 0, title, kBold);
      const size_t room = cells_.width() > column + 1 ? cells_.width() - column - 1 : 0;
      const size_t after = cells_.put(row, column, text(short_path(printable(prompt->text), room)));
      cells_.put(row, after, " ", kReverse);
      if (!view_.message().empty()) message(row == 0 ? 0 : row - 1, view_.message());
      return;
    }
    if (!view_.message().empty()) return message(row, view_.message());
    if (view_.has_ended()) return message(row, view_.ending() + "; this is the last look; q quits");
    size_t column = 0;
    for (const LiveHint& hint : live_hints()) {
      const size_t width = text_width(hint.keys) + text_width(hint.what) + 1;
      if (column + width > cells_.width()) return;
      column = cells_.put(row, column, hint.keys, kReverse);
      column = cells_.put(row, column + 1, hint.what) + kGap;
    }
  }

  void message(size_t row, const std::string& what) {
    const size_t end = cells_.put(row, 0, text(short_path(printable(what), cells_.width())));
    for (size_t column = end; column < cells_.width(); ++column) cells_.put(row, column, " ");
    cells_.set_style(row, kAlarm);
  }

  const LiveView& view_;
  const LiveModel& model_;
  const Report& report_;
  std::vector<LiveColumn> columns_;  // that are shown
  Cells cells_;
};

}  // namespace

Cells draw_live(const LiveView& view) {
  return LiveFrame(view).draw();
}

}  // namespace memprof::profile
