// SPDX-License-Identifier: Apache-2.0
#include "profile/series/series_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "profile/model/metric.h"
#include "profile/report/report_cells.h"
#include "profile/text/text_table.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

using Values = std::vector<std::pair<uint64_t, double>>;

constexpr size_t kWidestLine = 48;
constexpr size_t kNarrowestLine = 12;
constexpr size_t kColumnsOfNumbers = 64;  // what stands beside a line, about

// Figures of the system that are drawn: how the file calls them, and what they are called here.
constexpr std::pair<const char*, const char*> kDrawn[] = {{"rss_bytes", "resident (RSS)"},
                                                          {"resident_blocks_bytes", "  live heap"},
                                                          {"resident_slack_bytes", "  allocator slack"},
                                                          {"resident_free_bytes", "  free, kept"},
                                                          {"resident_others_bytes", "  outside of the heap"},
                                                          {"resident_unexplained_bytes", "  not explained"},
                                                          {"pss_bytes", "its share (PSS)"},
                                                          {"swap_bytes", "swapped out"},
                                                          {"cgroup_bytes", "its cgroup"}};
// Running counts, of which the growth is said.
constexpr std::pair<const char*, const char*> kCounted[] = {
    {"cgroup_high_events", "times over memory.high"},
    {"cgroup_max_events", "times at memory.max"},
    {"cgroup_oom_events", "times out of memory"},
    {"cgroup_oom_kill_events", "processes killed for it"},
    {"major_faults", "pages read from disk"}};

struct Extremes {
  double first = 0, min = 0, max = 0, last = 0;
};

Extremes extremes_of(const Values& values) {
  Extremes extremes{values.front().second, values.front().second, values.front().second,
                    values.back().second};
  for (const auto& [time, value] : values) {
    extremes.min = std::min(extremes.min, value);
    extremes.max = std::max(extremes.max, value);
  }
  return extremes;
}

class Drawing {
 public:
  Drawing(const Series& series, const TextOptions& options)
      : series_(series),
        first_ns_(series.looks.front().time_unix_ns),
        last_ns_(series.looks.back().time_unix_ns),
        has_utf8_(options.has_utf8),
        columns_(kWidestLine) {
    if (options.width == 0) return;
    const size_t room = options.width > kColumnsOfNumbers ? options.width - kColumnsOfNumbers : 0;
    columns_ = std::clamp(room, kNarrowestLine, kWidestLine);
  }

  void write_totals(TextWriter* writer) const {
    TextRow titles;
    titles.numbers = {"first", "least", "most", "last", "over time"};
    TextTable table(std::move(titles));
    table.set_optional({1, 0}, {4});
    add_row("live", total(Metric::kInuseSpace), &table);
    for (const auto& [figure, title] : kDrawn) add_row(title, figures(figure), &table);
    table.write(writer);
  }

  void write_rates(TextWriter* writer) const {
    const Values allocated = total(Metric::kAllocSpace);
    const double seconds = static_cast<double>(last_ns_ - first_ns_) / 1e9;
    if (allocated.size() > 1 && seconds > 0 && allocated.back().second >= allocated.front().second) {
      const double rate = (allocated.back().second - allocated.front().second) / seconds;
      writer->sentence(fmt::format("Allocated meanwhile: {}/s", format_bytes(rate)));
    }
    std::string events;
    for (const auto& [figure, title] : kCounted) {
      const Values values = figures(figure);
      if (values.size() < 2 || values.back().second <= values.front().second) continue;
      events += fmt::format("{}{} {}", events.empty() ? "" : ", ",
                            format_count(values.back().second - values.front().second), title);
    }
    if (!events.empty()) writer->sentence("The system's count meanwhile: " + events);
  }

  void write_sites(size_t max_rows, TextWriter* writer) const {
    std::vector<Site> sites = this->sites();
    if (sites.empty() || max_rows == 0) return;
    TextRow titles;
    titles.numbers = {"growth", "first", "most", "last", "over time"};
    titles.name_text = "function";
    titles.place = "file:line";
    TextTable table(std::move(titles));
    table.set_optional({1, 2}, {4});
    for (size_t i = 0; i < sites.size() && i < max_rows; ++i) {
      const Site& site = sites[i];
      TextRow row;
      const Extremes extremes = extremes_of(site.values);
      row.numbers = {format_signed_bytes(site.growth()), format_bytes(extremes.first),
                     format_bytes(extremes.max), format_bytes(extremes.last), line(site.values)};
      row.names = {printable(site.of->name)};
      row.place = printable(place_cell(site.of->name, site.of->file, site.of->line, site.of->module));
      table.add(std::move(row));
    }
    table.write(writer);
    if (sites.size() > max_rows) writer->line(fmt::format("and {} more (-n)", sites.size() - max_rows));
  }

 private:
  struct Site {
    const SeriesSite* of = nullptr;  // at the last look that has it
    Values values;                   // one a look; 0 where it was not among the largest

    double growth() const { return values.back().second - values.front().second; }
    // Above the first look: at the last one a process may have begun to clean up.
    double rise() const { return extremes_of(values).max - values.front().second; }
  };

  std::string line(const Values& values) const {
    return line_of(values, first_ns_, last_ns_, columns_, has_utf8_);
  }

  void add_row(const std::string& title, const Values& values, TextTable* table) const {
    if (values.empty()) return;
    const Extremes extremes = extremes_of(values);
    if (extremes.max == 0) return;
    TextRow row;
    row.numbers = {format_bytes(extremes.first), format_bytes(extremes.min), format_bytes(extremes.max),
                   format_bytes(extremes.last), line(values)};
    row.name_text = title;
    table->add(std::move(row));
  }

  Values total(Metric metric) const {
    Values values;
    for (const SeriesLook& look : series_.looks) {
      const auto found = look.totals.find(metric);
      if (found != look.totals.end()) values.emplace_back(look.time_unix_ns, found->second.value);
    }
    return values;
  }

  Values figures(const std::string& name) const {
    Values values;
    for (const SeriesLook& look : series_.looks) {
      const auto found = look.system.find(name);
      if (found != look.system.end())
        values.emplace_back(look.time_unix_ns, static_cast<double>(found->second));
    }
    return values;
  }

  // Those that rose most first; of those that rose alike, the larger ones.
  std::vector<Site> sites() const {
    using Key = std::tuple<std::string, std::string, std::string>;
    std::map<Key, Site> by_name;
    for (size_t i = 0; i < series_.looks.size(); ++i) {
      for (const SeriesSite& of : series_.looks[i].sites) {
        Site& site = by_name[{of.name, of.file, of.module}];
        if (site.values.empty()) {
          for (const SeriesLook& look : series_.looks) site.values.emplace_back(look.time_unix_ns, 0);
        }
        site.of = &of;
        site.values[i].second += of.live_bytes;
      }
    }
    std::vector<Site> sites;
    for (auto& [key, site] : by_name) sites.push_back(std::move(site));
    const auto rank = [](const Site& site) {
      return std::make_tuple(-site.rise(), -extremes_of(site.values).max, site.of->name, site.of->file);
    };
    std::sort(sites.begin(), sites.end(), [&](const Site& a, const Site& b) { return rank(a) < rank(b); });
    return sites;
  }

  const Series& series_;
  uint64_t first_ns_;
  uint64_t last_ns_;
  bool has_utf8_;
  size_t columns_;
};

void write_title(const Series& series, TextWriter* writer) {
  const std::string name = series.program.empty() ? "unknown program" : printable(series.program);
  const std::string title = series.pid == 0 ? name : fmt::format("{} (pid {})", name, series.pid);
  const uint64_t first = series.looks.front().time_unix_ns;
  const uint64_t last = series.looks.back().time_unix_ns;
  uint64_t max_processes = 0;
  for (const SeriesLook& look : series.looks) max_processes = std::max(max_processes, look.processes);
  std::string text =
      fmt::format("{}: {} looks, one every {} when new, {} to {} ({})", writer->bold(title),
                  series.looks.size(), format_duration_ns(static_cast<double>(series.every_ns)),
                  time_text(first), time_text(last), format_duration_ns(static_cast<double>(last - first)));
  if (max_processes > 1) text += fmt::format("; up to {} processes at once", max_processes);
  writer->sentence(text);
}

}  // namespace

std::string line_of(const Values& values, uint64_t first_ns, uint64_t last_ns, size_t columns,
                    bool has_utf8) {
  static constexpr const char* kSigns[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static constexpr const char* kAscii[] = {"_", ".", ":", "-", "=", "+", "*", "#"};
  constexpr size_t kSteps = 8;
  std::vector<double> highest(columns, -1);
  double max = 0;
  const double span = std::max(static_cast<double>(last_ns - first_ns), 1.0);
  for (const auto& [time, value] : values) {
    const double share = static_cast<double>(time - first_ns) / span;
    const auto column = std::min(static_cast<size_t>(share * static_cast<double>(columns)), columns - 1);
    highest[column] = std::max(highest[column], value);
    max = std::max(max, value);
  }
  // Between two looks that are further apart than a column is wide, the earlier one holds.
  double last = -1;
  for (double& value : highest) {
    if (value < 0) value = last;
    last = value;
  }
  std::string text;
  for (const double value : highest) {
    if (value < 0) {
      text += " ";
      continue;
    }
    const double share = max > 0 ? value / max : 0;  // 0 to 1
    text += (has_utf8 ? kSigns : kAscii)[static_cast<size_t>(share * (kSteps - 1) + 0.5)];
  }
  return text;
}

std::string series_text(const Series& series, const std::string& file, size_t max_rows,
                        const TextOptions& options) {
  TextWriter writer(options);
  if (series.looks.empty()) {
    writer.sentence("A series without a look: its process ended before the first, or it has just begun.");
    return writer.take();
  }
  write_title(series, &writer);
  if (series.cut_bytes != 0) {
    writer.sentence(
        fmt::format("Its last {} are no whole look, and left out: it is being written, or was cut off.",
                    format_bytes(static_cast<double>(series.cut_bytes))));
  }
  writer.blank();
  const Drawing drawing(series, options);
  drawing.write_totals(&writer);
  drawing.write_rates(&writer);
  writer.blank();
  drawing.write_sites(max_rows, &writer);
  writer.blank();
  writer.line(fmt::format("One look:  memprof report {} --at peak   (or last, 14:05, +10m)", file));
  writer.line(fmt::format("What grew: memprof diff {0}@first {0}@peak", file));
  return writer.take();
}

}  // namespace memprof::profile
