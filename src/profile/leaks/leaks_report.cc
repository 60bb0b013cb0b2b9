// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/leaks_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "profile/report/report_cells.h"
#include "profile/text/filter_text.h"
#include "profile/text/markup/json_text.h"
#include "profile/text/markup/notes_json.h"
#include "profile/text/text_table.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

using Json = nlohmann::ordered_json;

constexpr size_t kHeapRows = 5;

std::string count_of(size_t count, const char* what) {
  return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s");
}

// "1 place holds memory", "3 places hold memory"
std::string holders(size_t count) {
  return count_of(count, "place") + (count == 1 ? " holds" : " hold") + " memory";
}

std::string heap_growth(const HeapLeaks& heap) {
  return count_of(heap.suspects, "place") + (heap.suspects == 1 ? " grows" : " grow");
}

// How long a run has to be for an answer.
std::string how_long(const Leaks& leaks) {
  if (!(leaks.needed_ns > 0)) return "";
  return fmt::format(
      " It needs a run of about {} (this one: {}), or one that is sampled more often (memprof run -r 64k).",
      format_duration_ns(leaks.needed_ns), format_duration_ns(leaks.run_ns));
}

std::string answer(const Leaks& leaks) {
  const size_t unknown = leaks.numbers[static_cast<size_t>(LeakVerdict::kUnknown)] +
                         leaks.numbers[static_cast<size_t>(LeakVerdict::kYoung)];
  const size_t judged = leaks.rows.size() - unknown;
  if (leaks.suspects != 0) {
    return fmt::format("{} among {}: {} a minute (95 %: {} to {}).", count_of(leaks.suspects, "suspect"),
                       count_of(leaks.rows.size(), "place"), format_bytes(leaks.growth.bytes_per_minute),
                       format_bytes(leaks.growth.low), format_bytes(leaks.growth.high));
  }
  if (leaks.rows.empty()) return "No suspect: no place holds memory.";
  if (judged == 0) {
    return fmt::format("Not enough data: {}, none with enough samples for a verdict.{}", holders(unknown),
                       how_long(leaks));
  }
  if (leaks.is_open()) {
    return fmt::format("Cannot tell yet: no suspect, but of {} of {} live there is not enough data ({}).{}",
                       format_bytes(leaks.untold_bytes), format_bytes(leaks.live_bytes.value),
                       count_of(unknown, "place"), how_long(leaks));
  }
  return fmt::format("No suspect: {}, and none grows on.{}", holders(judged),
                     unknown == 0 ? "" : fmt::format(" Of {} more there is not enough data.", unknown));
}

// What no place can explain.
void resident(const Report& report, TextWriter* writer) {
  const double peak = report.totals[metric_index(Metric::kPeakSpace)].value;
  const auto max = static_cast<double>(report.max_resident_bytes);
  if (!(max > 0) || !(peak > 0)) return;
  constexpr double kMuch = 2;
  constexpr double kMuchBytes = 32.0 * 1024 * 1024;
  writer->sentence(
      fmt::format("Most resident: {}; the heap's peak: {}.{}", format_bytes(max), format_bytes(peak),
                  max > kMuch * peak && max - peak > kMuchBytes
                      ? " What is between them is held by no place: free memory that the allocator keeps "
                        "(fragmentation), code, stacks."
                      : ""));
}

std::string name_of(const FrameGroup& group, const TextWriter& writer) {
  const std::string place = place_cell(group.name, group.file, group.line, group.module);
  return writer.bold(printable(group.name)) + (place.empty() ? "" : "  " + printable(place));
}

// Who called it, and what it allocates through, as far as there is such.
void write_caller(const LeakRow& row, TextWriter* writer) {
  if (row.caller) writer->line("   called by " + name_of(*row.caller, *writer));
  if (row.notes.called_by) {
    const OwnLine& line = *row.notes.called_by;
    writer->line("   for " + writer->bold(printable(line.function)) + "  " +
                 printable(fmt::format("{}:{}", line.file, line.line)));
  }
  if (row.notes.through) {
    const NativeCallee& through = *row.notes.through;
    writer->line("   through " +
                 (through.function.empty() ? "" : writer->bold(printable(through.function)) + "  ") +
                 printable(through.module));
  }
}

void write_suspects(const Leaks& leaks, size_t max, TextWriter* writer) {
  for (size_t i = 0; i < leaks.suspects && i < max; ++i) {
    const LeakRow& row = leaks.rows[i];
    writer->line(fmt::format("{}. {}", i + 1, name_of(row.place, *writer)));
    write_caller(row, writer);
    writer->sentence(
        fmt::format("   {}; {} live.", leak_reason(row, leaks), format_bytes(row.live_bytes.value)));
  }
  if (leaks.suspects > max) {
    writer->sentence(writer->faint(
        fmt::format("{} of {} suspects shown; -n {} shows all.", max, leaks.suspects, leaks.suspects)));
  }
}

// A table of places, with these numbers before each.
class PlaceTable {
 public:
  PlaceTable(std::vector<std::string> numbers, GroupBy by)
      : has_places_(by == GroupBy::kFunction || by == GroupBy::kLine),
        table_(row_of(std::move(numbers), group_by_name(by), "file:line")) {}

  void add(std::vector<std::string> numbers, const FrameGroup& place) {
    TextRow line = row_of(std::move(numbers), "",
                          printable(place_cell(place.name, place.file, place.line, place.module)));
    line.names = {printable(place.name)};
    table_.add(std::move(line));
  }
  void write(TextWriter* writer) { table_.write(writer); }

 private:
  TextRow row_of(std::vector<std::string> numbers, const std::string& name_text,
                 const std::string& place) const {
    TextRow row;
    row.numbers = std::move(numbers);
    row.name_text = name_text;
    if (has_places_) row.place = place;
    return row;
  }

  const bool has_places_;
  TextTable table_;
};

void write_table(const LeakRow* first, size_t count, GroupBy by, TextWriter* writer) {
  PlaceTable table({"live", "verdict"}, by);
  for (const LeakRow* row = first; row != first + count; ++row) {
    table.add({format_bytes(row->live_bytes.value), verdict_name(row->verdict)}, row->place);
  }
  table.write(writer);
}

void write_others(const Leaks& leaks, GroupBy by, const LeakRows& rows, TextWriter* writer) {
  const size_t others = leaks.rows.size() - leaks.suspects;
  const size_t shown = std::min(others, rows.max);
  if (shown == 0) return;
  const LeakRow* const first = leaks.rows.data() + leaks.suspects;
  writer->blank();
  if (rows.has_reasons) {
    for (const LeakRow* row = first; row != first + shown; ++row) {
      writer->line(fmt::format("{}: {}", verdict_name(row->verdict), name_of(row->place, *writer)));
      write_caller(*row, writer);
      writer->sentence(
          fmt::format("   {}; {} live.", leak_reason(*row, leaks), format_bytes(row->live_bytes.value)));
    }
  } else {
    write_table(first, shown, by, writer);
  }
  writer->blank();
  if (shown < others) {
    writer->sentence(
        writer->faint(fmt::format("{} of {} other places shown; -n {} shows all.", shown, others, others)));
  }
  if (rows.has_reasons) return;
  for (size_t i = 0; i < kLeakVerdicts; ++i) {
    const auto verdict = static_cast<LeakVerdict>(i);
    const bool is_shown =
        std::any_of(first, first + shown, [&](const LeakRow& row) { return row.verdict == verdict; });
    if (!is_shown) continue;
    writer->sentence(
        fmt::format("{:<8} {}", std::string(verdict_name(verdict)) + ":", verdict_text(verdict)));
  }
}

std::string heap_text(const Leaks& leaks, bool is_judged) {
  if (is_judged) {
    return leaks.heap.suspects != 0 ? heap_growth(leaks.heap) + ", by more than garbage."
                                    : "no place is seen to grow on.";
  }
  return std::string("The runtime says what lies there, not since when. ") +
         (leaks.profiles > 1
              ? "So few looks, or so little that was collected between them, do not tell growth from garbage"
              : "One look tells no leak; a series does (memprof run --every 5s)") +
         ". What holds most:";
}

// The runtime's own heap: what grows there, or what holds most.
void write_heap(const Leaks& leaks, GroupBy by, size_t max, TextWriter* writer) {
  const HeapLeaks& heap = leaks.heap;
  if (heap.rows.empty()) return;
  writer->blank();
  const bool is_judged = heap.rows.front().slope.has_value();
  writer->sentence(
      fmt::format("JS heap, {} in all: {}", format_bytes(heap.bytes), heap_text(leaks, is_judged)));
  std::vector<std::string> titles = {"bytes", "share"};
  if (is_judged) titles.insert(titles.end(), {"a minute", "verdict"});
  PlaceTable table(std::move(titles), by);
  const size_t shown = std::min({heap.rows.size(), max, kHeapRows});
  for (size_t i = 0; i < shown; ++i) {
    const HeapRow& row = heap.rows[i];
    std::vector<std::string> numbers = {format_bytes(row.bytes),
                                        fmt::format("{:.0f} %", 100 * row.bytes / heap.bytes)};
    if (is_judged) {
      numbers.push_back(row.slope ? format_bytes(row.slope->bytes_per_minute) : "-");
      numbers.push_back(verdict_name(row.verdict));
    }
    table.add(std::move(numbers), row.place);
  }
  table.write(writer);
}

Json estimate(const Estimate& value) {
  const Json low = value.has_interval ? Json(std::llround(value.low)) : Json(nullptr);
  const Json high = value.has_interval ? Json(std::llround(value.high)) : Json(nullptr);
  return {{"value", std::llround(value.value)}, {"low", low}, {"high", high}};
}

template <typename Rate>
Json rate_json(const Rate& rate) {
  return {{"value", std::llround(rate.bytes_per_minute)},
          {"low", std::llround(rate.low)},
          {"high", std::llround(rate.high)}};
}

Json caller_json(const LeakRow& row) {
  if (!row.caller) return nullptr;
  return {{"name", row.caller->name}, {"file", row.caller->file}, {"line", row.caller->line}};
}

Json row_json(const LeakRow& row, const Leaks& leaks) {
  const Assessment& a = row.assessment;
  const bool is_suspect = row.verdict == LeakVerdict::kLeak;
  const bool has_share = a.births.samples > 0;
  Json notes;
  add_notes(row.notes, &notes);
  return {
      {"name", row.place.name},
      {"file", row.place.file},
      {"line", row.place.line},
      {"module", row.place.module},
      {"caller", caller_json(row)},
      {"through", notes["through"]},
      {"called_by", notes["called_by"]},
      {"verdict", verdict_name(row.verdict)},
      {"reason", leak_reason(row, leaks)},
      {"clock", row.clock == ClockChoice::kTime ? "time" : "load"},
      {"growth_per_minute", is_suspect ? rate_json(row.growth) : Json(nullptr)},
      {"p_value", a.is_tested ? Json(row.corrected_p) : Json(nullptr)},
      {"inuse_space", estimate(row.live_bytes)},
      {"inuse_objects", std::llround(row.live_blocks)},
      {"never_freed",
       has_share
           ? Json{{"share", a.never_freed.share}, {"low", a.never_freed.low}, {"high", a.never_freed.high}}
           : Json(nullptr)},
      {"settled_after_ns", has_share ? Json(std::llround(a.settled_after_ns)) : Json(nullptr)},
      {"first_ns", has_share ? Json(std::llround(part_begin_ns(a.births.first, row, leaks))) : Json(nullptr)},
      {"last_ns",
       has_share ? Json(std::llround(part_begin_ns(a.births.last + 1, row, leaks))) : Json(nullptr)},
      {"median_lifetime_ns", std::llround(a.median_lifetime_ns)},
      {"live_samples", std::llround(a.live_samples)},
      {"freed_samples", std::llround(a.freed_samples)},
      {"kept_samples", std::llround(a.births.samples)},
      {"slope_per_minute", row.slope ? rate_json(*row.slope) : Json(nullptr)}};
}

Json heap_json(const HeapLeaks& heap, size_t max) {
  if (heap.rows.empty()) return nullptr;
  Json json = {{"bytes", std::llround(heap.bytes)}, {"suspects", heap.suspects}, {"rows", Json::array()}};
  for (size_t i = 0; i < heap.rows.size() && i < max; ++i) {
    const HeapRow& row = heap.rows[i];
    json["rows"].push_back({{"name", row.place.name},
                            {"file", row.place.file},
                            {"line", row.place.line},
                            {"module", row.place.module},
                            {"verdict", verdict_name(row.verdict)},
                            {"bytes", std::llround(row.bytes)},
                            {"slope_per_minute", row.slope ? rate_json(*row.slope) : Json(nullptr)}});
  }
  return json;
}

}  // namespace

std::string leaks_text(const Leaks& leaks, const Report& report, const LeakRows& rows,
                       const TextOptions& options) {
  TextWriter writer(options);
  writer.sentence(writer.bold(
      answer(leaks) + (leaks.heap.suspects != 0 ? " In the JS heap " + heap_growth(leaks.heap) + "." : "")));
  if (leaks.suspects != 0) {
    writer.blank();
    write_suspects(leaks, rows.max, &writer);
  }
  write_others(leaks, report.by, rows, &writer);
  write_heap(leaks, report.by, rows.max, &writer);
  writer.blank();
  const std::string who = report.pid != 0 ? fmt::format("{} (pid {})", printable(report.program), report.pid)
                                          : printable(report.program);
  writer.sentence(fmt::format(
      "{}, {} after its start{}; rate {}; live: {}.", who, format_duration_ns(leaks.run_ns),
      leaks.profiles > 1
          ? fmt::format(", the last of {} {}", leaks.profiles, leaks.are_looks ? "looks" : "profiles")
          : "",
      format_rate(report.rate_bytes), format_bytes(leaks.live_bytes.value)));
  if (leaks.idle_ns() > 0) {
    writer.sentence(fmt::format("It is {}: of what its requests leave behind, that time tells nothing.",
                                idle_since(leaks)));
  }
  if (report.is_filtered()) writer.sentence(filter_sentence(report.filter) + ".");
  if (leaks.has_expected) {
    writer.sentence(fmt::format("Expected, and not judged: {} live.", format_bytes(leaks.expected_bytes)));
  }
  resident(report, &writer);
  return writer.take();
}

std::string leaks_json(const Leaks& leaks, const Report& report, const LeakRows& rows) {
  Json json;
  json["program"] = report.program;
  json["pid"] = report.pid != 0 ? Json(report.pid) : Json(nullptr);
  json["rate_bytes"] = report.rate_bytes;
  json["run_ns"] = std::llround(leaks.run_ns);
  json["idle_ns"] = std::llround(leaks.idle_ns());
  json["profiles"] = leaks.profiles;
  json["judged_unix_ns"] = leaks.judged_unix_ns;
  json["suspects"] = leaks.suspects;
  json["untold_space"] = std::llround(leaks.untold_bytes);
  json["needed_ns"] = leaks.untold_bytes > 0 ? Json(std::llround(leaks.needed_ns)) : Json(nullptr);
  json["is_open"] = leaks.is_open();
  json["tested"] = leaks.tested;
  json["growth_per_minute"] = rate_json(leaks.growth);
  json["inuse_space"] = estimate(leaks.live_bytes);
  json["expected_space"] = std::llround(leaks.expected_bytes);
  json["verdicts"] = Json::object();
  for (size_t i = 0; i < kLeakVerdicts; ++i) {
    json["verdicts"][verdict_name(static_cast<LeakVerdict>(i))] = leaks.numbers[i];
  }
  json["rows"] = Json::array();
  for (size_t i = 0; i < leaks.rows.size() && i < rows.max; ++i) {
    json["rows"].push_back(row_json(leaks.rows[i], leaks));
  }
  json["js_heap"] = heap_json(leaks.heap, rows.max);
  return json_to_text(json, 1) + "\n";
}

}  // namespace memprof::profile
