// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/report_summary.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <string>
#include <vector>

#include "format/runtime_state.h"
#include "profile/memory/peak_text.h"
#include "profile/memory/unseen_heap.h"
#include "profile/names/runtime_name.h"
#include "profile/report/output/report_header.h"
#include "profile/report/output/seen_memory.h"
#include "profile/report/report_cells.h"
#include "profile/text/filter_text.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

std::string bytes(uint64_t count) {
  return format_bytes(static_cast<double>(count));
}

class Summary {
 public:
  Summary(const Report& report, TextWriter* writer) : report_(report), writer_(*writer) {}

  void write() {
    writer_.sentence(subject_line(report_, writer_));
    memory();
    sampling();
    missing();
  }

 private:
  bool has(Metric metric) const { return report_.has_metric[metric_index(metric)]; }
  double selected(Metric metric) const { return report_.selected[metric_index(metric)].value; }

  // "12.6 MiB ±7.1%"; with a filter also the total.
  std::string value(Metric metric) const {
    std::string text = writer_.bold(value_cell(report_, metric, report_.selected));
    const Estimate& estimate = report_.selected[metric_index(metric)];
    if (report_.has_intervals && estimate.has_interval && estimate.low != estimate.high)
      text += fmt::format(" {}{}", writer_.signs().plus_minus, plus_minus_cell(report_, estimate));
    if (report_.is_filtered()) text += " of " + value_cell(report_, metric, report_.totals) + " total";
    return text;
  }

  void memory() {
    std::vector<std::string> parts;
    const bool has_peak = report_.totals[metric_index(Metric::kPeakSpace)].value > 0;
    if (has_peak) {
      parts.push_back("peak " + value(Metric::kPeakSpace));
    } else if (report_.from_memprof && report_.samples != 0 && has(Metric::kPeakSpace)) {
      parts.emplace_back("peak not known (no sample was live then)");
    }
    if (has(Metric::kInuseSpace))
      parts.push_back((report_.is_before_end ? "at end " : "live ") + value(Metric::kInuseSpace));
    if (has(Metric::kAllocSpace)) parts.push_back("allocated " + value(Metric::kAllocSpace));
    if (report_.temporary_ns != 0) parts.push_back("temporary " + value(Metric::kTemporarySpace));
    if (has(Metric::kMappedResidentSpace) && selected(Metric::kMappedResidentSpace) > 0)
      parts.push_back("mapped, in memory " + value(Metric::kMappedResidentSpace));
    if (report_.max_resident_bytes != 0)
      parts.push_back("process at most " + bytes(report_.max_resident_bytes) + " resident");
    if (!parts.empty()) writer_.sentence(fmt::format("Memory:  {}", fmt::join(parts, ", ")));
    if (report_.unseen_heap.is_known())
      writer_.sentence("Not in it: " + unseen_heap_text(report_.unseen_heap));
  }

  void sampling() {
    std::vector<std::string> parts;
    if (!report_.from_memprof) {
      parts.push_back(!report_.origin.empty() ? printable(report_.origin)
                                              : "not by memprof, so how exact these values are is unknown");
    } else {
      const std::string count = number(report_.samples) + (report_.samples == 1 ? " sample" : " samples");
      if (is_exact(report_)) {
        parts.push_back("every allocation, " + count);
      } else if (report_.rates.empty()) {
        parts.push_back(fmt::format("one per {} allocated, {}", format_rate(report_.rate_bytes), count));
      } else {
        parts.push_back(fmt::format("one per {} to {} allocated, {}",
                                    format_rate(report_.rates.front().rate_bytes),
                                    format_rate(report_.rates.back().rate_bytes), count));
      }
    }
    if (report_.is_filtered()) parts.push_back(filter_phrase());
    writer_.sentence(fmt::format("{} {}; --details says more",
                                 report_.from_memprof ? "Sampled:" : "Values: ", fmt::join(parts, "; ")));
  }

  std::string filter_phrase() const {
    std::string text = filter_sentence(report_.filter);
    if (!text.empty() && text[0] == 'O') text[0] = 'o';
    return text;
  }

  void note(uint64_t count, const char* one, const char* many) {
    if (count != 0) missing_.push_back(number(count) + " " + (count == 1 ? one : many));
  }

  // Slots of import tables, which nobody need know.
  void calls_of_libraries(uint64_t count, const char* where) {
    if (count == 0) return;
    missing_.push_back(
        fmt::format("calls of libraries {} in {} place{}", where, number(count), count == 1 ? "" : "s"));
  }

  void missing() {
    if (report_.dropped_samples != 0)
      missing_.push_back(bytes(report_.dropped_weight_bytes) + " (full tables)");
    if (report_.muted_bytes != 0) missing_.push_back(bytes(report_.muted_bytes) + " not sampled");
    if (report_.seen_after_ns != 0) missing_.emplace_back("what was allocated before memprof was attached");
    note(report_.unseen_processes, "process that ran without memprof", "processes that ran without memprof");
    note(report_.uncollected_processes, "process that could not be read", "processes that could not be read");
    note(report_.unsampled_processes, "process without a sample", "processes without a sample");
    if (report_.small_processes != 0) {
      missing_.push_back(fmt::format("{} small process{} that allocated {}", number(report_.small_processes),
                                     report_.small_processes == 1 ? "" : "es",
                                     bytes(report_.small_allocated_bytes)));
    }
    calls_of_libraries(report_.import_refused + report_.import_unbound, "to malloc");
    calls_of_libraries(report_.import_foreign, "to another allocator");
    if (report_.bypassing_libraries != 0) missing_.push_back(bypassing_text(report_.bypassing_libraries));
    if (report_.import_taken != 0) missing_.push_back(past_memprof(report_));
    note(report_.replaced_samples, "free that was not seen", "frees that were not seen");
    runtimes();
    stacks();
    if (seen_share(report_) < kSeenEnough && report_.anonymous_unseen_bytes != 0)
      missing_.push_back(bytes(report_.anonymous_unseen_bytes) + " of anonymous memory");
    if (report_.from_memprof && !report_.has_intervals && report_.samples != 0)
      missing_.emplace_back("intervals (another program altered this file)");
    if (!missing_.empty()) writer_.sentence(fmt::format("Missing: {}", fmt::join(missing_, ", ")));
  }

  void runtimes() {
    for (size_t i = 0; i < report_.runtimes.size(); ++i) {
      const RuntimeFacts& runtime = report_.runtimes[i];
      const std::string language = language_name(report_.runtimes, i);
      if (runtime.version != 0 && runtime.objects == static_cast<uint64_t>(RuntimeObjects::kRefused))
        missing_.push_back(language + " objects");
      if (runtime.stacks == static_cast<uint64_t>(RuntimeStacks::kUnknownVersion) ||
          runtime.stacks == static_cast<uint64_t>(RuntimeStacks::kUnknownLayout)) {
        missing_.push_back(language + " frames");
      }
    }
  }

  // Of more than a few.
  void stacks() {
    constexpr double kFew = 0.01;
    if (!report_.health) return;
    const auto walks = static_cast<double>(report_.health->walks);
    const double cut = walks - static_cast<double>(report_.health->complete());
    if (cut > kFew * walks)
      missing_.push_back(fmt::format("callers of {:.0f} % of the samples", 100 * cut / walks));
    const double shortened = report_.health->shortened_bytes;
    if (shortened > kFew * report_.health->total_allocated_bytes) {
      missing_.push_back(fmt::format("callers of {:.0f} % of the bytes (too many different stacks)",
                                     100 * shortened / report_.health->total_allocated_bytes));
    }
  }

  const Report& report_;
  TextWriter& writer_;
  std::vector<std::string> missing_;
};

}  // namespace

void write_summary(const Report& report, TextWriter* writer) {
  Summary(report, writer).write();
}

}  // namespace memprof::profile
