// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/report_header.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <string>
#include <vector>

#include "format/runtime_state.h"
#include "profile/memory/peak_text.h"
#include "profile/memory/resident_text.h"
#include "profile/memory/unseen_heap.h"
#include "profile/names/runtime_name.h"
#include "profile/report/output/full_tables.h"
#include "profile/report/output/seen_memory.h"
#include "profile/report/report_cells.h"
#include "profile/text/filter_text.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

// A state as files have it.
template <typename State>
uint64_t number_of(State state) {
  return static_cast<uint64_t>(state);
}

// Never "100 %" for less than all, nor "0 %" for some.
std::string share_text(double share) {
  const double percent = 100 * share;
  const double shown = percent == 100 ? 100 : percent == 0 ? 0 : std::clamp(percent, 0.1, 99.9);
  return fmt::format("{:.{}f} %", shown, percent == 100 || percent == 0 ? 0 : 1);
}

const char* cut_text(Walk walk) {
  switch (walk) {
    case Walk::kDepthLimit:
      return "at the depth limit";
    case Walk::kBadFrame:
      return "at an implausible frame";
    case Walk::kLeftStack:
      return "outside the thread's stack";
    case Walk::kNoRule:
      return "in code without unwind rules";
    case Walk::kRoot:
    case Walk::kMiddleLeftOut:
      break;
  }
  return "";
}

class Header {
 public:
  Header(const Report& report, TextWriter* writer) : report_(report), writer_(*writer) {}

  void write() {
    say(subject_line(report_, writer_));
    if (report_.from_memprof) {
      sampling();
    } else {
      say(fmt::format("{}, and how exact they are is unknown.{}", value_source(report_),
                      report_.rate_bytes > 1 ? " Period: " + format_rate(report_.rate_bytes) + "." : ""));
    }
    if (report_.is_filtered()) filter();
    for (const std::string& line : pressure_lines(report_)) say(line);
    peak();
    total(report_.is_before_end ? "At end" : "Live", Metric::kInuseSpace, Metric::kInuseObjects);
    total("Allocated", Metric::kAllocSpace, Metric::kAllocObjects);
    if (report_.temporary_ns != 0) temporary();
    const bool has_mapped = has_mapped_in_memory(report_);
    for (const auto& line :
         resident_lines(report_.resident, report_.is_before_end, has_mapped, report_.likely_runtime_heap)) {
      say(line);
    }
    for (const std::string& line : seen_memory_lines(report_)) say(line);
    if (!report_.heaps.empty() && report_.by != GroupBy::kHeap) heaps();
  }

 private:
  void say(const std::string& sentence) { writer_.sentence(sentence); }
  bool has(Metric metric) const { return report_.has_metric[metric_index(metric)]; }

  // Which rates there were; the most used of them first.
  void rates() {
    std::vector<RateUse> uses = report_.rates;
    std::sort(uses.begin(), uses.end(),
              [](const RateUse& a, const RateUse& b) { return a.weight_bytes > b.weight_bytes; });
    double bytes = 0;
    double time = 0;
    for (const RateUse& use : uses) {
      bytes += static_cast<double>(use.weight_bytes);
      time += static_cast<double>(use.time_ns);
    }
    const auto percent = [](uint64_t part, double whole) {
      return fmt::format("{:.0f} %", whole > 0 ? 100 * static_cast<double>(part) / whole : 0);
    };
    constexpr size_t kMaxListed = 4;
    std::string text = "The rate changed, and each sample counts by its own: ";
    for (size_t i = 0; i < uses.size() && i < kMaxListed; ++i) {
      text += fmt::format("{}{} for {} of the bytes and {} of the time", i == 0 ? "" : ", ",
                          format_rate(uses[i].rate_bytes), percent(uses[i].weight_bytes, bytes),
                          percent(uses[i].time_ns, time));
    }
    if (uses.size() > kMaxListed) text += fmt::format(", and {} more", uses.size() - kMaxListed);
    say(text + ".");
  }

  void budget() {
    const double cpu = static_cast<double>(report_.cpu_ns);
    say(fmt::format("Budget {} % of the CPU time: sampling took {:.2f} % of {:.1f} s.",
                    fmt::format("{:.6g}", static_cast<double>(report_.budget_ppm) / 1e4),
                    cpu > 0 ? 100 * static_cast<double>(report_.sampling_ns) / cpu : 0, cpu / 1e9));
  }

  std::string rate_text() const {
    if (is_exact(report_)) return is_whole(report_) ? "Rate 0 (every allocation): " : "Rate 0: ";
    if (report_.rates.empty()) return "Rate " + format_rate(report_.rate_bytes) + ": ";
    return fmt::format("Rates {} to {}, {} in the end: ", format_rate(report_.rates.front().rate_bytes),
                       format_rate(report_.rates.back().rate_bytes), format_rate(report_.rate_bytes));
  }

  void sampling() {
    std::string line = rate_text();
    line += fmt::format("{} sample{} ({} still live), {} dropped", number(report_.samples),
                        report_.samples == 1 ? "" : "s", number(report_.live_samples),
                        number(report_.dropped_samples));
    say(line);
    if (!report_.rates.empty()) rates();
    if (report_.budget_ppm != 0) budget();
    if (report_.health) health(*report_.health);
    if (report_.dropped_samples != 0) {
      say(fmt::format(
          "The dropped samples stand for {} that are missing below: the profiler's tables were full.",
          format_bytes(static_cast<double>(report_.dropped_weight_bytes))));
    }
    const auto say_of = [this](uint64_t count, const char* text) {
      if (count != 0) say(fmt::format(fmt::runtime(text), number(count)));
    };
    for (const std::string& text : full_tables(report_)) say(text);
    say_of(report_.replaced_samples,
           "{} blocks were freed in a way that the profiler did not see; they are not counted as live.");
    if (report_.muted_bytes != 0) {
      say(fmt::format(
          "{} not sampled: allocated by signal handlers, or by an allocator internally, while a sample was "
          "being recorded.",
          format_bytes(static_cast<double>(report_.muted_bytes))));
    }
    if (report_.seen_after_ns != 0) say(seen_since(report_));
    imports();
    runtimes();
    processes();
    if (!report_.has_intervals && report_.samples != 0) {
      say("Another program altered this profile, and its statistics are gone: values without intervals.");
    } else if (report_.has_intervals && report_.stacks_without_intervals != 0) {
      const uint64_t stacks = report_.stacks_without_intervals;
      say(
          fmt::format("{} stack{} no statistics that agree with {} values, and no interval; those of sums "
                      "are wider by {} "
                      "values.",
                      number(stacks), stacks == 1 ? " has" : "s have", stacks == 1 ? "its" : "their",
                      stacks == 1 ? "its" : "their"));
    }
  }

  // What is missing of the run.
  void processes() {
    constexpr size_t kMaxNamed = 3;
    const uint64_t unseen = report_.unseen_processes;
    if (unseen != 0) {
      say(fmt::format("{} process{} of the run ran without memprof, and {} missing below:", number(unseen),
                      unseen == 1 ? "" : "es", unseen == 1 ? "is" : "are"));
      for (size_t i = 0; i < std::min(report_.unseen.size(), kMaxNamed); ++i) {
        say("  " + printable(report_.unseen[i]));
      }
    }
    const uint64_t uncollected = report_.uncollected_processes;
    if (uncollected != 0) {
      say(
          fmt::format("{} process{} of the run {} missing below: what {} recorded could not be read, or {} "
                      "beyond the number that a run keeps.",
                      number(uncollected), uncollected == 1 ? "" : "es", uncollected == 1 ? "is" : "are",
                      uncollected == 1 ? "it" : "they", uncollected == 1 ? "it was" : "they were"));
    }
    const uint64_t unsampled = report_.unsampled_processes;
    if (unsampled != 0) {
      say(fmt::format("{} more process{} of the run had no sample: {} allocated too little for the rate.",
                      number(unsampled), unsampled == 1 ? "" : "es", unsampled == 1 ? "it" : "each"));
    }
    const uint64_t small = report_.small_processes;
    if (small != 0) {
      say(fmt::format(
          "{} small process{} of the run, which allocated {}, {} no profile; memprof run --keep-all.",
          number(small), small == 1 ? "" : "es",
          format_bytes(static_cast<double>(report_.small_allocated_bytes)), small == 1 ? "has" : "have"));
    }
  }

  // What is missing of a language runtime.
  void runtimes() {
    for (size_t i = 0; i < report_.runtimes.size(); ++i) {
      const RuntimeFacts& runtime = report_.runtimes[i];
      const std::string language = language_name(report_.runtimes, i);
      const std::string name =
          fmt::format("{} {}.{}", language, runtime.version >> 8, runtime.version & 0xff);
      if (runtime.version != 0 && runtime.objects == number_of(RuntimeObjects::kRefused)) {
        say("The objects of " + name +
            " that it does not get from malloc are missing below: its allocators could not be replaced.");
      }
      if (runtime.stacks == number_of(RuntimeStacks::kUnknownVersion)) {
        say(fmt::format("{}: stacks have no {} frames, because memprof does not know this version.",
                        runtime.version != 0 ? name : "This " + language, language));
      } else if (runtime.stacks == number_of(RuntimeStacks::kUnknownLayout)) {
        say(fmt::format(
            "{}: stacks have no {} frames, because this interpreter is not laid out as its version says.",
            name, language));
      }
    }
  }

  // Of a process that loaded memprof at run time.
  void imports() {
    for (const std::string& line : unhooked_calls(report_)) say(line);
    const std::string taken = report_.import_taken == 0 ? "" : past_memprof(report_);
    for (const std::string& text : {taken, bypassing_text(report_.bypassing_libraries)})
      if (!text.empty()) say("Missing below: " + text + ".");
  }

  static std::string bytes_text(const StackHealth& health, double bytes) {
    if (health.total_allocated_bytes <= 0 || bytes <= 0) return "";
    return fmt::format(" ({} of the bytes)", share_text(bytes / health.total_allocated_bytes));
  }

  void health(const StackHealth& health) {
    const auto walks = static_cast<double>(health.walks);
    const auto share = [&](uint64_t samples) { return share_text(static_cast<double>(samples) / walks); };
    std::string line =
        "Stacks: " + share(health.complete()) + " complete" + bytes_text(health, health.complete_bytes());
    if (health.median_depth && health.min_depth) {
      line += fmt::format("; median {} frame{}, least {}", *health.median_depth,
                          *health.median_depth == 1 ? "" : "s", *health.min_depth);
    }
    say(line);
    if (const uint64_t samples = health.of(Walk::kMiddleLeftOut); samples != 0) {
      say(fmt::format("  without their middle: {}{}; MEMPROF_MAX_DEPTH (1024 at most) keeps more of them",
                      share(samples), bytes_text(health, health.bytes_of(Walk::kMiddleLeftOut))));
    }
    std::vector<std::string> reasons;
    for (size_t i = 0; i < kWalkReasons; ++i) {
      const auto walk = static_cast<Walk>(i);
      if (!is_cut(walk) || health.of(walk) == 0) continue;
      reasons.push_back(fmt::format("{} {}{}", share(health.of(walk)), cut_text(walk),
                                    bytes_text(health, health.bytes_of(walk))));
    }
    if (!reasons.empty()) say(fmt::format("  cut short: {}", fmt::join(reasons, ", ")));
    what_to_do(health);
  }

  // About what cuts more than a few.
  void what_to_do(const StackHealth& health) {
    constexpr double kFew = 0.01;
    const double few = kFew * static_cast<double>(health.walks);
    const auto samples = [&](Walk walk) {
      return static_cast<double>(health.samples[static_cast<size_t>(walk)]);
    };
    if (samples(Walk::kNoRule) > few) {
      for (const CutRuntime* runtime : report_.cut_runtimes) {
        say(fmt::format("  {}: the code that it makes at run time has no unwind rules; for whole stacks, {}.",
                        runtime->name, runtime->to_do));
      }
    }
    if (samples(Walk::kDepthLimit) + samples(Walk::kMiddleLeftOut) > few) {
      say("  Deeper stacks are kept whole with a higher MEMPROF_MAX_DEPTH (512, if it is not set; at most "
          "1024).");
    }
  }

  void filter() { say(filter_sentence(report_.filter) + "; percents are of the total."); }

  std::string interval(Metric metric) const {
    const Estimate& total = report_.selected[metric_index(metric)];
    if (!report_.has_intervals || !total.has_interval) return {};
    if (total.low == total.high) {
      return is_exact(report_) || total.value == 0 ? "" : " (all of it was sampled)";
    }
    const std::string low = format_metric(metric, total.low);
    const std::string high = format_metric(metric, total.high);
    if (low != high) return fmt::format(" (95 %: {} to {})", low, high);
    return fmt::format(" (95 %: {}{})", writer_.signs().plus_minus, plus_minus_cell(report_, total));
  }

  std::string value(Metric metric) const {
    std::string text = writer_.bold(value_cell(report_, metric, report_.selected));
    if (report_.is_filtered()) text += " of " + value_cell(report_, metric, report_.totals) + " total";
    return text + interval(metric);
  }

  void total(const char* what, Metric bytes, Metric blocks) {
    if (!has(bytes) && !has(blocks)) return;
    std::string line = fmt::format("{:<10}", std::string(what) + ":");
    if (has(bytes)) line += " " + value(bytes);
    if (has(bytes) && has(blocks)) line += " in";
    if (has(blocks)) {
      const std::string count = value_cell(report_, blocks, report_.selected);
      line += " " + count + (count == "1" ? " block" : " blocks");
      if (report_.is_filtered()) line += " of " + value_cell(report_, blocks, report_.totals);
      line += interval(blocks);
    }
    say(line);
  }

  void temporary() {
    total("Temporary", Metric::kTemporarySpace, Metric::kTemporaryObjects);
    const std::string share = percent_cell(report_.selected[metric_index(Metric::kTemporarySpace)].value,
                                           report_.selected[metric_index(Metric::kAllocSpace)].value);
    say(fmt::format("           freed within {}{}",
                    format_duration_ns(static_cast<double>(report_.temporary_ns)),
                    share.empty() ? "" : ": " + share + " of what was allocated"));
    constexpr double kFew = 0.001;
    const double unknown = report_.unknown_lifetime_bytes;
    if (unknown > kFew * report_.totals[metric_index(Metric::kAllocSpace)].value) {
      say(fmt::format(
          "           {} were freed after an unknown time: the room for lifetimes was full, or the "
          "table of live blocks",
          format_bytes(unknown)));
    }
  }

  void peak() {
    const double bytes = report_.totals[metric_index(Metric::kPeakSpace)].value;
    if (bytes > 0) {
      total("Peak", Metric::kPeakSpace, Metric::kPeakObjects);
    } else if (report_.from_memprof && report_.samples != 0 && has(Metric::kPeakSpace)) {
      for (const std::string& line : untold_peak_lines(report_, report_.metric)) say(line);
    } else {
      // No peak of the heap was seen: that of the process is known.
      if (report_.from_memprof && report_.samples == 0 && report_.max_resident_bytes != 0) {
        say("Process:   most resident (VmHWM): " +
            format_bytes(static_cast<double>(report_.max_resident_bytes)));
      }
      return;
    }
    for (const std::string& line : peak_moment_lines(report_, bytes)) say(line);
  }

  void heaps() {
    constexpr size_t kMaxHeaps = 4;
    const size_t metric = metric_index(report_.metric);
    std::vector<std::string> shown;
    for (const ReportHeap& heap : report_.heaps) {
      if (heap.values[metric].value == 0 || shown.size() == kMaxHeaps) break;
      shown.push_back(
          fmt::format("{} {}", printable(heap.name), value_cell(report_, report_.metric, heap.values)));
    }
    const size_t more = report_.heaps.size() - shown.size();
    if (more != 0) shown.push_back(fmt::format("{}{}", more, shown.empty() ? " that hold nothing" : " more"));
    say(fmt::format("Heaps:     {} ({}); --by heap lists them.", fmt::join(shown, ", "),
                    metric_name(report_.metric)));
  }

  const Report& report_;
  TextWriter& writer_;
};

}  // namespace

std::string subject_line(const Report& report, const TextWriter& writer) {
  std::string name = report.program.empty() ? "unknown program" : printable(report.program);
  if (!report.told_apart.empty() && report.pid != 0) name += " " + printable(report.told_apart);
  if (report.pid != 0) name += fmt::format(" (pid {})", report.pid);
  std::string when;
  if (report.time_unix_ns != 0) {
    const auto seconds = static_cast<std::time_t>(report.time_unix_ns / 1'000'000'000);
    when += fmt::format(", {:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(seconds));
  }
  if (report.duration_ns != 0)
    when += fmt::format(", after {:.1f} s", static_cast<double>(report.duration_ns) / 1e9);
  when += short_of_memory_text(report);
  return writer.bold(name) + when;
}

std::string seen_since(const Report& report) {
  const double seconds = static_cast<double>(report.seen_after_ns) / 1e9;
  const std::string time = seconds < 120           ? fmt::format("{:.1f} s", seconds)
                           : seconds < 2 * 3600.0  ? fmt::format("{:.0f} minutes", seconds / 60)
                           : seconds < 2 * 86400.0 ? fmt::format("{:.0f} hours", seconds / 3600)
                                                   : fmt::format("{:.0f} days", seconds / 86400);
  return "Seen since the process had run for " + time + ": what it allocated before is not known.";
}

void write_header(const Report& report, TextWriter* writer) {
  Header(report, writer).write();
}

}  // namespace memprof::profile
