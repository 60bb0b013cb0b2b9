// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/seen_memory.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "profile/report/report_cells.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

struct Part {
  const char* name;
  uint64_t ProfileFacts::* bytes;
};
constexpr Part kSeen[] = {{"mapped", &ProfileFacts::anonymous_mapped_bytes},
                          {"malloc", &ProfileFacts::anonymous_malloc_bytes},
                          {"its allocator", &ProfileFacts::anonymous_allocator_bytes},
                          {"stacks", &ProfileFacts::anonymous_stacks_bytes},
                          {"data of modules", &ProfileFacts::anonymous_modules_bytes},
                          {"memprof", &ProfileFacts::anonymous_own_bytes}};

uint64_t seen_bytes(const ProfileFacts& facts) {
  uint64_t sum = 0;
  for (const Part& part : kSeen) sum += facts.*part.bytes;
  return sum;
}

std::string bytes_text(uint64_t bytes) {
  return format_bytes(static_cast<double>(bytes));
}

// Never all for less than all.
std::string percent_text(uint64_t part, uint64_t whole) {
  const double percent = whole == 0 ? 100 : 100 * static_cast<double>(part) / static_cast<double>(whole);
  return fmt::format("{:.1f} %", part < whole ? std::min(percent, 99.9) : 100.0);
}

}  // namespace

double seen_share(const ProfileFacts& facts) {
  const uint64_t seen = seen_bytes(facts);
  const uint64_t all = seen + facts.anonymous_unseen_bytes;
  return all == 0 ? 1 : static_cast<double>(seen) / static_cast<double>(all);
}

std::optional<Metric> metric_of_much_mapped(const Report& report) {
  constexpr double kMuch = 0.1;
  const auto process =
      static_cast<double>(std::max(report.max_resident_bytes, report.measured_resident_bytes));
  const Metric metric = report.has_metric[metric_index(Metric::kMappedResidentSpace)]
                            ? Metric::kMappedResidentSpace
                            : Metric::kMappedSpace;
  const double mapped = report.totals[metric_index(metric)].value;
  return mapped > 0 && mapped >= kMuch * process ? std::optional(metric) : std::nullopt;
}

std::string counted_mappings_text(const Report& report) {
  if (!metric_is_mapped(report.metric) || report.anonymous_allocator_bytes == 0) return {};
  return fmt::format("Not listed: {} in memory, mapped by allocators whose blocks are counted.",
                     bytes_text(report.anonymous_allocator_bytes));
}

bool has_mapped_in_memory(const Report& report) {
  return report.totals[metric_index(Metric::kMappedResidentSpace)].value > 0;
}

std::vector<std::string> seen_memory_lines(const Report& report) {
  std::vector<std::string> lines;
  if (report.has_metric[metric_index(Metric::kJsSpace)]) {
    lines.push_back(
        fmt::format("JS heap:   {} of objects that were made since the start, as the runtime samples them; "
                    "--metric js lists them",
                    value_cell(report, Metric::kJsSpace, report.selected)));
  }
  if (report.unseen_heap.is_known()) lines.push_back("Not in it: " + unseen_heap_text(report.unseen_heap));
  if (!report.has_metric[metric_index(Metric::kMappedSpace)]) return lines;
  const std::string count = value_cell(report, Metric::kMappedObjects, report.selected);
  std::string mapped =
      fmt::format("Mapped:    {} in {} mapping{}", value_cell(report, Metric::kMappedSpace, report.selected),
                  count, count == "1" ? "" : "s");
  if (!report.has_metric[metric_index(Metric::kMappedResidentSpace)]) {
    lines.push_back(mapped + "; how much of it was resident was not measured (--metric mapped lists them)");
    return lines;
  }
  lines.push_back(fmt::format("{}, {} of it resident; --mmap lists them", mapped,
                              value_cell(report, Metric::kMappedResidentSpace, report.selected)));
  // By another process, which does not know who holds the rest.
  if (report.measured_resident_bytes == 0) return lines;
  std::vector<std::string> parts;
  for (const Part& part : kSeen) {
    if (report.*part.bytes != 0)
      parts.push_back(fmt::format("{} {}", part.name, bytes_text(report.*part.bytes)));
  }
  const uint64_t seen = seen_bytes(report);
  const uint64_t unseen = report.anonymous_unseen_bytes;
  const uint64_t resident = std::max(report.measured_resident_bytes, seen + unseen);
  lines.push_back(fmt::format("Seen:      {} of {} anonymous memory ({}), {} of {} resident with files",
                              percent_text(seen, seen + unseen), bytes_text(seen + unseen),
                              fmt::join(parts, ", "), percent_text(resident - unseen, resident),
                              bytes_text(resident)));
  if (seen_share(report) < kSeenEnough) {
    lines.push_back(
        fmt::format("{} of anonymous memory is not seen: mapped by direct system calls (Go, programs "
                    "that are linked statically), or before memprof began.",
                    bytes_text(unseen)));
  }
  return lines;
}

std::vector<std::string> unhooked_calls(const Report& report) {
  const auto places = [](uint64_t count) {
    return fmt::format("In {} place{}", format_count(static_cast<double>(count)), count == 1 ? "" : "s");
  };
  std::vector<std::string> lines;
  if (const uint64_t closed = report.import_refused + report.import_unbound; closed != 0) {
    lines.push_back(
        places(closed) +
        " calls of malloc, free and their like could not be led to memprof: what libraries allocate "
        "there is missing below.");
  }
  if (report.import_foreign != 0) {
    lines.push_back(
        places(report.import_foreign) +
        " libraries call another allocator than the program's malloc, for example one of their own: "
        "what they allocate there is missing below.");
  }
  return lines;
}

std::string past_memprof(const Report& report) {
  return fmt::format(
      "what was allocated in {} at most, while another tool had put its own functions in place of memprof's",
      format_duration_ns(static_cast<double>(report.import_unseen_ns)));
}

}  // namespace memprof::profile
