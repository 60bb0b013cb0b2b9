// SPDX-License-Identifier: Apache-2.0
#include "profile/report_text.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <vector>

#include "profile/short_name.h"
#include "profile/units.h"

namespace memprof::profile {
namespace {

constexpr size_t kNumbers = 7;          // columns of numbers
constexpr size_t kCumulative = 5;       // the first of those that are cumulative
constexpr size_t kLeastTextWidth = 24;  // of name and place on a narrow terminal
constexpr size_t kFileNameWidth = 100;  // of names where no terminal limits a line

const char* title(Metric metric) {
  static constexpr const char* kTitles[] = {"allocations", "allocated", "blocks", "live"};
  return kTitles[metric_index(metric)];
}

// The two metrics that stand beside the one that rows are ordered by.
std::array<Metric, 2> companions(Metric metric) {
  switch (metric) {
    case Metric::kInuseSpace:
      return {Metric::kInuseObjects, Metric::kAllocSpace};
    case Metric::kInuseObjects:
      return {Metric::kInuseSpace, Metric::kAllocSpace};
    case Metric::kAllocSpace:
      return {Metric::kAllocObjects, Metric::kInuseSpace};
    case Metric::kAllocObjects:
      return {Metric::kAllocSpace, Metric::kInuseSpace};
  }
  return {Metric::kInuseObjects, Metric::kAllocSpace};
}

// Names come from files: what would steer a terminal is not printed.
std::string printable(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = '?';
  }
  return text;
}

std::string percent(double part, double whole) {
  return whole > 0 ? fmt::format("{:.1f}%", 100 * part / whole) : std::string();
}

class TextReport {
 public:
  TextReport(const Report& report, const TextOptions& options) : report_(report), options_(options) {}

  std::string text() {
    header();
    if (!nothing_to_show()) {
      table();
      footer();
    }
    return std::move(out_);
  }

 private:
  struct Line {
    std::array<std::string, kNumbers> numbers;
    std::string name;
    std::string place;
  };

  // A line of the table.
  void say_as_is(const std::string& line) { out_ += line + "\n"; }

  // A sentence: broken between words where the terminal ends.
  void say(const std::string& sentence) {
    size_t column = 0;
    for (size_t begin = 0; begin < sentence.size();) {
      const size_t end = std::min(sentence.find(' ', begin + 1), sentence.size());
      std::string word = sentence.substr(begin, end - begin);
      const size_t width = visible_width(word);
      if (options_.width != 0 && column != 0 && column + width > options_.width) {
        word.replace(0, 1, "\n  ");
        column = 1;
      }
      out_ += word;
      column += width;
      begin = end;
    }
    out_ += '\n';
  }

  // Columns of a word that may have colour codes.
  static size_t visible_width(const std::string& word) {
    size_t width = text_width(word);
    for (size_t at = word.find('\x1b'); at != std::string::npos; at = word.find('\x1b', at + 1)) {
      width -= word.find('m', at) + 1 - at;
    }
    return width;
  }
  std::string styled(const char* code, const std::string& text) const {
    return options_.has_color ? fmt::format("\x1b[{}m{}\x1b[0m", code, text) : text;
  }
  std::string bold(const std::string& text) const { return styled("1", text); }
  std::string faint(const std::string& text) const { return styled("2", text); }

  bool has(Metric metric) const { return report_.has_metric[metric_index(metric)]; }
  bool is_exact() const { return report_.rate_bytes <= 1; }

  std::string cell(Metric metric, const std::array<Estimate, kMetricCount>& values) const {
    return has(metric) ? format_metric(metric, values[metric_index(metric)].value) : "-";
  }

  void header() {
    std::string who = report_.program.empty() ? "unknown program" : printable(report_.program);
    if (report_.pid != 0) who += fmt::format(" (pid {})", report_.pid);
    std::string when;
    if (report_.time_unix_ns != 0) {
      const auto seconds = static_cast<std::time_t>(report_.time_unix_ns / 1'000'000'000);
      when += fmt::format(", {:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(seconds));
    }
    if (report_.duration_ns != 0)
      when += fmt::format(", after {:.1f} s", static_cast<double>(report_.duration_ns) / 1e9);
    say(bold(who) + when);
    if (report_.from_memprof) {
      sampling();
    } else {
      say(fmt::format(
          "Not written by memprof: the values are those of the file, and how exact they are is unknown.{}",
          report_.rate_bytes > 1 ? " Period: " + format_rate(report_.rate_bytes) + "." : ""));
    }
    total("Live", Metric::kInuseSpace, Metric::kInuseObjects);
    total("Allocated", Metric::kAllocSpace, Metric::kAllocObjects);
  }

  void sampling() {
    const auto number = [](uint64_t count) { return format_count(static_cast<double>(count)); };
    std::string line =
        is_exact() ? "Rate 0 (every allocation): " : "Rate " + format_rate(report_.rate_bytes) + ": ";
    line += fmt::format("{} sample{} ({} still live), {} dropped", number(report_.samples),
                        report_.samples == 1 ? "" : "s", number(report_.live_samples),
                        number(report_.dropped_samples));
    say(line);
    if (report_.complete_stacks) say("Stacks: " + complete_stacks());
    if (report_.dropped_samples != 0) {
      say(fmt::format(
          "The dropped samples stand for {} that are missing below: the profiler's tables were full.",
          format_bytes(static_cast<double>(report_.dropped_weight_bytes))));
    }
    if (report_.replaced_samples != 0) {
      say(fmt::format(
          "{} blocks were freed in a way that the profiler did not see; they are not counted as live.",
          format_count(static_cast<double>(report_.replaced_samples))));
    }
    if (!report_.has_intervals && report_.samples != 0) {
      say("Another program altered this profile, and its statistics are gone: values without intervals.");
    }
  }

  std::string complete_stacks() const {
    // Never "100 %" for less than all, nor "0 %" for some.
    const double share = 100 * *report_.complete_stacks;
    const double shown = share == 100 ? 100 : share == 0 ? 0 : std::clamp(share, 0.1, 99.9);
    return fmt::format("{:.{}f} % of the sampled ones are complete", shown,
                       share == 100 || share == 0 ? 0 : 1);
  }

  std::string interval(Metric metric) const {
    const Estimate& total = report_.totals[metric_index(metric)];
    if (!report_.has_intervals || !total.has_interval) return {};
    if (total.low == total.high) return is_exact() || total.value == 0 ? "" : " (all of it was sampled)";
    const std::string low = format_metric(metric, total.low);
    const std::string high = format_metric(metric, total.high);
    if (low != high) return fmt::format(" (95 %: {} to {})", low, high);
    return fmt::format(" (95 %: ±{})", plus_minus(total));
  }

  void total(const char* what, Metric bytes, Metric blocks) {
    if (!has(bytes) && !has(blocks)) return;
    std::string line = fmt::format("{:<10}", std::string(what) + ":");
    if (has(bytes)) line += " " + bold(cell(bytes, report_.totals)) + interval(bytes);
    if (has(bytes) && has(blocks)) line += " in";
    if (has(blocks)) {
      const std::string count = cell(blocks, report_.totals);
      line += " " + count + (count == "1" ? " block" : " blocks") + interval(blocks);
    }
    say(line);
  }

  bool nothing_to_show() {
    if (report_.from_memprof && report_.samples == 0) {
      say("");
      if (is_exact()) {
        say("No allocation was made while the profiler was on: 0 samples at rate 0 (every allocation).");
      } else {
        say(fmt::format(
            "No allocation was sampled: 0 samples at a rate of {}. The program allocated less than about "
            "{} (95 %).",
            format_rate(report_.rate_bytes), format_bytes(report_.unlisted_bound_bytes)));
        say("Profile it again with `memprof run -r 0 -- CMD`, which records every allocation.");
      }
      return true;
    }
    if (!report_.rows.empty()) return false;
    say("");
    const char* other = metric_is_live(report_.metric) && has(Metric::kAllocSpace)
                            ? "; --metric alloc_space shows what was allocated"
                            : "";
    say(report_.row_count == 0 ? fmt::format("Nothing to list for {}{}.", metric_name(report_.metric), other)
                               : fmt::format("{} rows, none shown.", report_.row_count));
    return true;
  }

  // Half of the interval, the larger one, in percent of the value.
  std::string plus_minus(const Estimate& estimate) const {
    if (!report_.has_intervals || !estimate.has_interval) return "-";
    if (estimate.value <= 0) return "";
    const double half = std::max(estimate.high - estimate.value, estimate.value - estimate.low);
    const double share = 100 * half / estimate.value;
    if (share > 0 && share < 0.05) return "<0.1%";
    return fmt::format("{:.{}f}%", share, share > 0 && share < 9.95 ? 1 : 0);
  }

  static std::string place(const ReportRow& row) {
    if (!row.file.empty()) return row.line > 0 ? fmt::format("{}:{}", row.file, row.line) : row.file;
    // `module+0xoffset` says it already.
    return row.name.compare(0, row.module.size() + 3, row.module + "+0x") == 0 ? std::string() : row.module;
  }

  Line line_of(const ReportRow& row) const {
    const size_t metric = metric_index(report_.metric);
    const auto others = companions(report_.metric);
    const double whole = report_.totals[metric].value;
    Line line;
    line.numbers = {cell(report_.metric, row.self),
                    plus_minus(row.self[metric]),
                    percent(row.self[metric].value, whole),
                    cell(others[0], row.self),
                    cell(others[1], row.self),
                    cell(report_.metric, row.cumulative),
                    percent(row.cumulative[metric].value, whole)};
    line.name = printable(row.name);
    if (report_.by == GroupBy::kFunction || report_.by == GroupBy::kLine) {
      line.place = printable(place(row));
    }
    return line;
  }

  void table() {
    const auto others = companions(report_.metric);
    Line titles;
    titles.numbers = {title(report_.metric), "±", "%", title(others[0]), title(others[1]),
                      title(report_.metric), "%"};
    titles.name = group_by_name(report_.by);
    bool has_files = false;
    std::vector<Line> lines;
    for (const ReportRow& row : report_.rows) {
      lines.push_back(line_of(row));
      has_files |= !row.file.empty();
    }
    if (report_.by == GroupBy::kFunction || report_.by == GroupBy::kLine)
      titles.place = has_files ? "file:line" : "module";

    std::array<size_t, kNumbers> widths{};
    size_t name_width = text_width(titles.name);
    size_t place_width = text_width(titles.place);
    const auto measure = [&](const Line& line) {
      for (size_t i = 0; i < kNumbers; ++i) widths[i] = std::max(widths[i], text_width(line.numbers[i]));
      name_width = std::max(name_width, text_width(line.name));
      place_width = std::max(place_width, text_width(line.place));
    };
    measure(titles);
    for (const Line& line : lines) measure(line);
    fit(widths, &name_width, &place_width);

    size_t self_width = 0;
    for (size_t i = 0; i < kCumulative; ++i) self_width += widths[i] + 2;
    size_t cumulative_width = 0;
    for (size_t i = kCumulative; i < kNumbers; ++i) cumulative_width += widths[i] + 2;
    say("");
    say_as_is(faint(fmt::format("{:>{}}{:>{}}", "self", self_width - 2, "cumulative", cumulative_width + 2)));
    say_as_is(bold(joined(titles, widths, name_width, place_width)));
    for (const Line& line : lines) say_as_is(joined(line, widths, name_width, place_width));
  }

  // Shares what a terminal leaves beside the numbers.
  void fit(const std::array<size_t, kNumbers>& widths, size_t* name_width, size_t* place_width) const {
    if (options_.width == 0) {
      *name_width = std::min(*name_width, kFileNameWidth);
      return;
    }
    size_t used = 0;
    for (const size_t width : widths) used += width + 2;
    const size_t room = std::max(options_.width > used ? options_.width - used : 0, kLeastTextWidth);
    if (*place_width == 0) {
      *name_width = std::min(*name_width, room);
      return;
    }
    const size_t text_room = room - 2;
    if (*name_width + *place_width <= text_room) return;
    *place_width =
        std::max(std::min(*place_width, text_room / 3), text_room - std::min(text_room, *name_width));
    *name_width = text_room - *place_width;
  }

  std::string joined(const Line& line, const std::array<size_t, kNumbers>& widths, size_t name_width,
                     size_t place_width) const {
    std::string text;
    for (size_t i = 0; i < kNumbers; ++i) {
      text.append(widths[i] - text_width(line.numbers[i]), ' ');
      text += line.numbers[i] + "  ";
    }
    const std::string name = short_name(line.name, name_width);
    text += name;
    if (!line.place.empty()) {
      const size_t width = text_width(name);
      text.append(2 + (width < name_width ? name_width - width : 0), ' ');
      text += short_path(line.place, place_width);
    }
    return text;
  }

  // The end of a path is what tells files apart.
  static std::string short_path(const std::string& path, size_t width) {
    if (text_width(path) <= width || width == 0) return path;
    size_t cut = 0;
    for (size_t left = text_width(path) - width + 1; left > 0 && cut < path.size(); --left) {
      do ++cut;
      while (cut < path.size() && (static_cast<unsigned char>(path[cut]) & 0xc0) == 0x80);
    }
    return "…" + path.substr(cut);
  }

  void footer() {
    say("");
    if (report_.row_count > report_.rows.size()) {
      say(faint(fmt::format("{} of {} rows shown; -n {} shows all.",
                            format_count(static_cast<double>(report_.rows.size())),
                            format_count(static_cast<double>(report_.row_count)), report_.row_count)));
    }
    if (!report_.has_intervals) return;
    if (is_exact()) {
      if (report_.dropped_samples == 0) say(faint("Every allocation was recorded: the numbers are exact."));
      return;
    }
    say(faint("± is the larger half of the 95 % interval; --json has both ends."));
    say(faint(fmt::format("Code that was never sampled: less than {} each (95 %; 3.0 times the rate).",
                          format_bytes(report_.unlisted_bound_bytes))));
  }

  const Report& report_;
  const TextOptions& options_;
  std::string out_;
};

}  // namespace

std::string report_text(const Report& report, const TextOptions& options) {
  return TextReport(report, options).text();
}

}  // namespace memprof::profile
