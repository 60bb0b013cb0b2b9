// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/leaks_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "profile/report/place_columns.h"
#include "profile/report/report_cells.h"
#include "profile/report/report_values.h"
#include "profile/text/columns.h"
#include "profile/text/filter_text.h"
#include "profile/text/markup/column_values.h"
#include "profile/text/markup/json_text.h"
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

// Whether it is known how it grew.
bool is_judged(const HeapLeaks& heap) {
  return !heap.rows.empty() && heap.rows.front().slope.has_value();
}

const FrameGroup& place_of(const LeakRow& row) {
  return row.place;
}

const FrameGroup& heap_place_of(const HeapRow& row) {
  return row.place;
}

template <typename Rate>
Json rate_json(const Rate& rate) {
  return {{"value", json_rounded(rate.bytes_per_minute)},
          {"low", json_rounded(rate.low)},
          {"high", json_rounded(rate.high)}};
}

Json caller_json(const LeakRow& row) {
  if (!row.caller) return nullptr;
  return {{"name", row.caller->name}, {"file", row.caller->file}, {"line", row.caller->line}};
}

Json never_freed_json(const ShareInterval& share) {
  return {{"share", share.share}, {"low", share.low}, {"high", share.high}};
}

// Keeps a reference to `leaks`.
std::vector<Column<LeakRow>> leak_columns(const Leaks& leaks) {
  using Row = LeakRow;
  const auto assessed = [](double Assessment::* number) {
    return [number](const Row& row) { return Json(json_rounded(row.assessment.*number)); };
  };
  // Of what is known of blocks that are kept.
  const auto kept = [](auto value) {
    return [value](const Row& row) {
      return row.assessment.births.samples > 0 ? Json(value(row)) : Json(nullptr);
    };
  };
  std::vector<Column<Row>> columns = place_columns<Row>(place_of);
  columns.push_back(value_column<Row>("caller", caller_json));
  add_columns(note_columns<Row>(), &columns);
  add_columns<Row>(
      {
          text_column<Row>("live", kStays, [](const Row& row) { return format_bytes(row.live_bytes.value); }),
          {"verdict",
           kStays,
           [](const Row& row) { return std::string(verdict_name(row.verdict)); },
           {},
           "verdict",
           [](const Row& row) { return Json(verdict_name(row.verdict)); }},
          value_column<Row>("reason", [&leaks](const Row& row) { return Json(leak_reason(row, leaks)); }),
          value_column<Row>(
              "clock",
              [](const Row& row) { return Json(row.clock == ClockChoice::kTime ? "time" : "load"); }),
          value_column<Row>("growth_per_minute",
                            [](const Row& row) {
                              return row.verdict == LeakVerdict::kLeak ? rate_json(row.growth)
                                                                       : Json(nullptr);
                            }),
          value_column<Row>("p_value",
                            [](const Row& row) {
                              return row.assessment.is_tested ? Json(row.corrected_p) : Json(nullptr);
                            }),
          value_column<Row>("inuse_space", [](const Row& row) { return estimate_value(row.live_bytes); }),
          value_column<Row>("inuse_objects",
                            [](const Row& row) { return Json(json_rounded(row.live_blocks)); }),
          value_column<Row>("never_freed", kept([](const Row& row) {
                              return never_freed_json(row.assessment.never_freed);
                            })),
          value_column<Row>("settled_after_ns", kept([](const Row& row) {
                              return json_rounded(row.assessment.settled_after_ns);
                            })),
          value_column<Row>("first_ns", kept([&leaks](const Row& row) {
                              return json_rounded(part_begin_ns(row.assessment.births.first, row, leaks));
                            })),
          value_column<Row>("last_ns", kept([&leaks](const Row& row) {
                              return json_rounded(part_begin_ns(row.assessment.births.last + 1, row, leaks));
                            })),
          value_column<Row>("median_lifetime_ns", assessed(&Assessment::median_lifetime_ns)),
          value_column<Row>("live_samples", assessed(&Assessment::live_samples)),
          value_column<Row>("freed_samples", assessed(&Assessment::freed_samples)),
          value_column<Row>("kept_samples",
                            [](const Row& row) { return Json(json_rounded(row.assessment.births.samples)); }),
          value_column<Row>("slope_per_minute",
                            [](const Row& row) { return row.slope ? rate_json(*row.slope) : Json(nullptr); }),
      },
      &columns);
  return columns;
}

// Of the runtime's heap; growth is shown where it was judged.
std::vector<Column<HeapRow>> heap_columns(const HeapLeaks& heap) {
  using Row = HeapRow;
  std::vector<Column<Row>> columns = place_columns<Row>(heap_place_of);
  add_columns<Row>(
      {
          value_column<Row>("verdict", [](const Row& row) { return Json(verdict_name(row.verdict)); }),
          {"bytes",
           kStays,
           [](const Row& row) { return format_bytes(row.bytes); },
           {},
           "bytes",
           [](const Row& row) { return Json(json_rounded(row.bytes)); }},
          text_column<Row>("share", kStays,
                           [whole = heap.bytes](const Row& row) {
                             return fmt::format("{:.0f} %", 100 * row.bytes / whole);
                           }),
          value_column<Row>("slope_per_minute",
                            [](const Row& row) { return row.slope ? rate_json(*row.slope) : Json(nullptr); }),
      },
      &columns);
  if (!is_judged(heap)) return columns;
  columns.push_back(text_column<Row>("a minute", kStays, [](const Row& row) {
    return row.slope ? format_bytes(row.slope->bytes_per_minute) : "-";
  }));
  columns.push_back(text_column<Row>("verdict", kStays,
                                     [](const Row& row) { return std::string(verdict_name(row.verdict)); }));
  return columns;
}

// Behind the numbers.
template <typename Row, typename Place>
auto fill_by(GroupBy by, Place place) {
  return place_fill<Row>(group_by_name(by), has_places(by) ? "file:line" : "", place);
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
    write_columns(leak_columns(leaks), first, first + shown, fill_by<LeakRow>(by, place_of), writer);
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

std::string heap_text(const Leaks& leaks) {
  if (is_judged(leaks.heap)) {
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
  writer->sentence(fmt::format("JS heap, {} in all: {}", format_bytes(heap.bytes), heap_text(leaks)));
  const size_t shown = std::min({heap.rows.size(), max, kHeapRows});
  const auto first = heap.rows.begin();
  write_columns(heap_columns(heap), first, first + static_cast<std::ptrdiff_t>(shown),
                fill_by<HeapRow>(by, heap_place_of), writer);
}

Json heap_json(const HeapLeaks& heap, size_t max) {
  if (heap.rows.empty()) return nullptr;
  return {{"bytes", json_rounded(heap.bytes)},
          {"suspects", heap.suspects},
          {"rows", json_rows(heap_columns(heap), heap.rows, max)}};
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
  json["run_ns"] = json_rounded(leaks.run_ns);
  json["idle_ns"] = json_rounded(leaks.idle_ns());
  json["profiles"] = leaks.profiles;
  json["judged_unix_ns"] = leaks.judged_unix_ns;
  json["suspects"] = leaks.suspects;
  json["untold_space"] = json_rounded(leaks.untold_bytes);
  json["needed_ns"] = leaks.untold_bytes > 0 ? Json(json_rounded(leaks.needed_ns)) : Json(nullptr);
  json["is_open"] = leaks.is_open();
  json["tested"] = leaks.tested;
  json["growth_per_minute"] = rate_json(leaks.growth);
  json["inuse_space"] = estimate_value(leaks.live_bytes);
  json["expected_space"] = json_rounded(leaks.expected_bytes);
  json["verdicts"] = Json::object();
  for (size_t i = 0; i < kLeakVerdicts; ++i) {
    json["verdicts"][verdict_name(static_cast<LeakVerdict>(i))] = leaks.numbers[i];
  }
  json["rows"] = json_rows(leak_columns(leaks), leaks.rows, rows.max);
  json["js_heap"] = heap_json(leaks.heap, rows.max);
  return json_to_text(json, 1) + "\n";
}

}  // namespace memprof::profile
