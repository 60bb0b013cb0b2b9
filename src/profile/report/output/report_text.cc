// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/report_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "profile/memory/unseen_heap.h"
#include "profile/names/short_name.h"
#include "profile/report/output/report_header.h"
#include "profile/report/output/report_summary.h"
#include "profile/report/output/report_tree_text.h"
#include "profile/report/output/seen_memory.h"
#include "profile/report/report_cells.h"
#include "profile/report/report_columns.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

constexpr size_t kMaxNames = 5;  // of functions that a text means

class TextReport {
 public:
  TextReport(const Report& report, const TextOptions& options, std::string input, const Report* mapped)
      : report_(report), writer_(options), input_(std::move(input)), mapped_(mapped) {}

  std::string text(HeaderKind header) {
    (header == HeaderKind::kSummary ? write_summary : write_header)(report_, &writer_);
    if (says_why_nothing_is_shown()) return writer_.take();
    if (report_.has_sizes) {
      sizes();
      return writer_.take();
    }
    if (report_.tree) {
      writer_.blank();
      write_tree(report_, *report_.tree, Direction::kCallees, &writer_);
    } else if (report_.calls.empty()) {
      table();
    }
    for (const ReportCalls& calls : report_.calls) write_calls(calls);
    if (mapped_ != nullptr) mapped();
    few_samples();
    footer();
    return writer_.take();
  }

 private:
  void say(const std::string& sentence) { writer_.sentence(sentence); }
  bool has(Metric metric) const { return report_.has_metric[metric_index(metric)]; }

  bool has_rows() const {
    if (report_.has_sizes) return true;
    if (report_.tree) return !report_.tree->nodes.empty();
    if (!report_.calls.empty()) return !report_.calls[0].edges.matched.empty();
    return !report_.rows.empty() || report_.single_rows.count != 0;
  }

  bool says_why_nothing_is_shown() {
    if (has_rows()) return false;  // mappings need no sample
    if (report_.from_memprof && report_.samples == 0) {
      writer_.blank();
      if (is_exact(report_)) {
        say("No allocation was made while the profiler was on: 0 samples at rate 0 (every allocation).");
      } else {
        say(fmt::format(
            "No allocation was sampled: 0 samples at a rate of {}. The program took less than about "
            "{} from malloc (95 %).",
            format_rate(report_.rate_bytes), format_bytes(report_.unlisted_bound_bytes)));
        if (report_.unseen_heap.is_known()) return true;  // what it has was not allocated by malloc
        // The most that was ever resident may be of the program that executed this one.  Who has a heap of its own may
        // have given it back by the end, and a rate does not show it.
        const bool is_at_end = report_.resident.is_known() && runtime_heap_of({report_.program}) == nullptr;
        const std::string memory =
            unsampled_memory_text(is_at_end ? report_.resident.total_bytes : report_.max_resident_bytes,
                                  report_.program, has(Metric::kMappedSpace));
        say(!memory.empty()
                ? (is_at_end ? "It had " : "It had at most ") + memory + "."
                : "Profile it again with `memprof run -r 0 -- CMD`, which records every allocation.");
      }
      return true;
    }
    writer_.blank();
    const size_t count = report_.tree ? report_.tree->hidden_nodes() : report_.row_count;
    if (count != 0) {
      say(fmt::format("{} rows, none shown; {}.", count,
                      report_.tree ? "--min-percent 0 shows the smallest" : "-n gives how many"));
      return true;
    }
    say(why_nothing_is_listed());
    if (const std::string counted = counted_mappings_text(report_); !counted.empty()) say(counted);
    return true;
  }

  bool is_zero(Metric metric) const { return report_.selected[metric_index(metric)].value == 0; }

  // And what to ask instead.
  std::string why_nothing_is_listed() const {
    const std::string ask = "memprof report " + input_;
    const bool has_allocated = has(Metric::kAllocSpace) && !is_zero(Metric::kAllocSpace);
    if (report_.is_filtered() && !has_allocated &&
        (!has(Metric::kInuseSpace) || is_zero(Metric::kInuseSpace))) {
      const FilterTexts& filter = report_.filter;
      if (filter.focus && !filter.ignore && !filter.process) {
        return fmt::format("No stack has a frame that matches '{}' ((?i) ignores case). What there is: {}",
                           printable(*filter.focus), ask);
      }
      if (filter.process && !filter.focus && !filter.ignore) {
        return fmt::format("No process is called like '{}'. Those that there are: {} --by process",
                           printable(*filter.process), ask);
      }
      return std::string(filter.process ? "--focus, --ignore and --process" : "--focus and --ignore") +
             " leave no stack. What there is: " + ask;
    }
    if (metric_is_live(report_.metric) && has_allocated) {
      const std::string filter = report_.is_filtered() ? " with the same filter" : "";
      return fmt::format(
          "Nothing{} was live when the profile was made; what was allocated{}: {} --metric alloc_space",
          report_.is_filtered() ? " of these stacks" : "", filter, ask);
    }
    if (metric_is_temporary(report_.metric) && has_allocated) {
      return fmt::format("Nothing{} was freed within {}; --younger TIME asks for a longer time.",
                         report_.is_filtered() ? " of these stacks" : "",
                         format_duration_ns(static_cast<double>(report_.temporary_ns)));
    }
    if (metric_is_mapped(report_.metric) && !report_.is_filtered() && is_zero(Metric::kMappedSpace))
      return "The program itself mapped nothing that is left.";
    return fmt::format("Nothing to list for {}.", metric_name(report_.metric));
  }

  // Half the interval over the value; 0: it is exact, or not known.
  static double relative_error(const Estimate& estimate) {
    if (!estimate.has_interval || estimate.value <= 0) return 0;
    return std::max(estimate.high - estimate.value, estimate.value - estimate.low) / estimate.value;
  }

  // Where the intervals are so wide that the order of rows says little.
  void few_samples() {
    constexpr double kTooWide = 0.3;
    if (!report_.has_intervals || is_exact(report_)) return;
    const bool has_row = !report_.rows.empty();
    const auto& values = has_row ? report_.rows[0].self : report_.selected;
    const double error = relative_error(values[metric_index(report_.metric)]);
    if (error <= kTooWide) return;
    const std::string rate = better_rate_text(values, error);
    say(fmt::format("Few samples{}, and the {} is within {:.0f} %: -r {} would make that {} (now {}).",
                    how_many(), has_row ? "first row" : "sum", 100 * error, rate,
                    rate == "0" ? "exact" : "about 7 %", rates_text()));
  }

  // Of the peak a report does not have the number: that of all samples says nothing of it.
  std::string how_many() const {
    const char* const fewer = report_.is_filtered() ? ", fewer in these stacks" : "";
    if (metric_is_peak(report_.metric))
      return report_.is_filtered() ? " in these stacks at the peak" : " at the peak";
    const bool is_live = metric_is_live(report_.metric);
    const uint64_t samples = is_live ? report_.live_samples : report_.samples;
    return fmt::format(" ({}{}{})", format_count(static_cast<double>(samples)), is_live ? " live" : "",
                       fewer);
  }

  // The rate at which the interval of so much would be 7 % on either side, rounded down.
  std::string better_rate_text(const std::array<Estimate, kMetricCount>& values, double error) const {
    constexpr double kWantedError = 0.07;
    constexpr double kWanted = kWantedError / 1.96;  // a standard deviation
    constexpr double kMinRate = 1024;
    const size_t metric = metric_index(report_.metric);
    const double bytes = values[metric | 1].value;
    const double blocks = std::max(1.0, values[metric & ~size_t{1}].value);
    // Of n blocks of one size, each sampled with probability p, the variance is (1 - p) / p / n of the square of the
    // sum; half of the samples tell the peak.
    const double of_blocks = kWanted * kWanted * (metric_is_peak(report_.metric) ? blocks / 2 : blocks);
    // What no sample tells of is in proportion to the rate: nearly all of the interval of a few large blocks.
    const uint64_t rate_bytes = report_.rates.empty() ? report_.rate_bytes : report_.rates.back().rate_bytes;
    const double wanted = std::min(bytes / blocks / std::log1p(1 / of_blocks),
                                   static_cast<double>(rate_bytes) * kWantedError / error);
    return rate_argument(wanted < kMinRate ? 0 : std::exp2(std::floor(std::log2(wanted))));
  }

  // As -r takes it.
  static std::string rate_argument(double rate_bytes) {
    constexpr double kMega = 1024 * 1024;
    return rate_bytes == 0       ? "0"
           : rate_bytes >= kMega ? fmt::format("{:.0f}M", rate_bytes / kMega)
                                 : fmt::format("{:.0f}k", rate_bytes / 1024);
  }

  std::string rates_text() const {
    if (report_.rates.empty()) return format_rate(report_.rate_bytes);
    return format_rate(report_.rates.front().rate_bytes) + " to " +
           format_rate(report_.rates.back().rate_bytes);
  }

  void sizes() {
    writer_.blank();
    if (report_.sizes.empty()) {
      say(report_.from_memprof ? "No live block was sampled, so there are no sizes."
                               : "The file does not say how large blocks are: memprof did not write it.");
      return;
    }
    write_sizes(report_, &writer_);
    writer_.blank();
    say(writer_.faint(
        "Of live blocks; from each size on, up to the next. Of what was freed a profile has no sizes."));
  }

  // What the program mapped itself, where that is much of the process.
  void mapped() {
    const bool is_measured = mapped_->metric == Metric::kMappedResidentSpace;
    say(fmt::format(
        "The program itself also mapped memory: {}{}, in no row above. All of it: memprof report {} --mmap",
        value_cell(*mapped_, mapped_->metric, mapped_->totals), is_measured ? " are in memory" : "", input_));
    writer_.blank();
    write_rows(*mapped_, &writer_);
    writer_.blank();
  }

  void table() {
    writer_.blank();
    if (!report_.rows.empty()) write_rows(report_, &writer_);
    writer_.blank();
    single_rows();
    left_out();
    not_all(report_.rows.size(), report_.row_count);
  }

  void left_out() {
    if (!report_.hidden.empty()) {
      say(writer_.faint(
          fmt::format("Without frames that match '{}'; what these allocate counts as their callers'.",
                      printable(report_.hidden))));
    }
    if (report_.forwarders.empty()) return;
    std::string names;
    for (size_t i = 0; i < report_.forwarders.size() && i < kMaxNames; ++i) {
      names += (i == 0 ? "" : ", ") + short_in_sentence(report_.forwarders[i]);
    }
    if (report_.forwarders.size() > kMaxNames) names += " ...";
    const bool is_one = report_.forwarders.size() == 1;
    say(writer_.faint(fmt::format(
        "{} only {} sizes on to the allocator: what {} counts as {} callers'; --all-frames shows {}.",
        printable(names), is_one ? "hands" : "hand", is_one ? "it allocates" : "they allocate",
        is_one ? "its" : "their", is_one ? "it" : "them")));
  }

  void single_rows() {
    const SingleRows& single = report_.single_rows;
    if (single.count == 0) return;
    const bool is_one = single.count == 1;
    const double together = single.together.value;
    const std::string held =
        metric_is_bytes(report_.metric) ? format_bytes(together) : format_count(together);
    say(writer_.faint(
        fmt::format("{} of one sample{} {}; --details lists {}.",
                    is_one ? "1 row" : format_count(static_cast<double>(single.count)) + " rows",
                    is_one ? " holds" : " each hold",
                    together == 0 ? (is_one ? "nothing itself" : "nothing themselves")
                                  : held + (is_one ? "" : " together"),
                    is_one ? "it" : "them")));
  }

  void not_all(size_t shown, size_t count) {
    if (shown >= count) return;
    say(writer_.faint(fmt::format("{} of {} rows shown; -n {} shows all.",
                                  format_count(static_cast<double>(shown)),
                                  format_count(static_cast<double>(count)), count)));
  }

  // Names of templates can fill screens.
  std::string short_in_sentence(const std::string& name) const {
    const size_t width = writer_.options().width;
    return width == 0 || text_width(name) <= width / 2 ? name
                                                       : short_name(shown_name(name, "", ""), width / 2);
  }

  // Which functions the text means, and what goes through them.
  void title_of(const CallEdges& edges) {
    const size_t metric = metric_index(report_.metric);
    const bool has_several = edges.matched.size() > 1;
    writer_.blank();
    std::string what = has_several
                           ? fmt::format("{} functions that match '{}'", edges.matched.size(), edges.function)
                           : short_in_sentence(edges.matched[0]);
    const double whole = report_.totals[metric].value;
    const std::string percent = percent_cell(edges.cumulative[metric].value, whole);
    say(fmt::format("{} of {}: {} {} in and below {}{}",
                    edges.direction == Direction::kCallers ? "Callers" : "Callees",
                    writer_.bold(printable(what)), value_cell(report_, report_.metric, edges.cumulative),
                    metric_title(report_.metric), has_several ? "them" : "it",
                    percent.empty() ? "" : ", " + percent + " of the total"));
    if (!has_several) return;
    std::string names;
    for (size_t i = 0; i < edges.matched.size() && i < kMaxNames; ++i) {
      names += (i == 0 ? "" : ", ") + printable(short_in_sentence(edges.matched[i]));
    }
    if (edges.matched.size() > kMaxNames) {
      names += fmt::format(" and {} more", edges.matched.size() - kMaxNames);
    }
    say("  taken together; the whole name of one takes that alone: " + names);
  }

  void write_calls(const ReportCalls& calls) {
    const CallEdges& edges = calls.edges;
    title_of(edges);
    if (edges.row_count == 0) {
      say(fmt::format("  It holds nothing of {}{}.", metric_name(report_.metric),
                      report_.is_filtered() ? " in these stacks" : ""));
      return;
    }
    if (calls.tree) {
      write_tree(report_, *calls.tree, edges.direction, &writer_);
      return;
    }
    write_edges(report_, edges, &writer_);
    writer_.blank();
    not_all(edges.rows.size(), edges.row_count);
    if (edges.has_recursion) {
      say(writer_.faint(
          "With recursion a stack counts once for each row on it: rows may add up to more than all."));
    }
  }

  void footer() {
    if (const std::string counted = counted_mappings_text(report_); !counted.empty()) {
      say(writer_.faint(counted));
    }
    if (!report_.has_intervals) return;
    if (is_exact(report_)) {
      if (is_whole(report_)) {
        say(writer_.faint("Every allocation was recorded: the numbers are exact."));
      }
      return;
    }
    say(writer_.faint(std::string(writer_.signs().plus_minus) +
                      " is the larger half of the 95 % interval; --json has both ends."));
    say(writer_.faint(
        fmt::format("Code that was never sampled: less than {} each (95 %; 3.0 times the rate).",
                    format_bytes(report_.unlisted_bound_bytes))));
  }

  const Report& report_;
  TextWriter writer_;
  std::string input_;
  const Report* mapped_;
};

}  // namespace

std::string report_text(const Report& report, const TextOptions& options, const std::string& input,
                        HeaderKind header, const Report* mapped) {
  return TextReport(report, options, input, mapped).text(header);
}

}  // namespace memprof::profile
