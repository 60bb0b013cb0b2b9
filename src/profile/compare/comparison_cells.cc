// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/comparison_cells.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cmath>
#include <ctime>

#include "profile/model/metric.h"
#include "profile/report/report_cells.h"
#include "profile/text/units.h"

namespace memprof::profile {

std::string signed_text(Metric metric, double value) {
  const std::string text = format_metric(metric, value);
  // What rounds to nothing has no sign.
  if (text == "-0 B" || text == "-0") return text.substr(1);
  return value > 0 && text != "0 B" && text != "0" ? "+" + text : text;
}

std::string interval_text(Metric metric, const Change& change) {
  if (!change.is_tested) return "?";
  if (change.low == change.high) return "exact";
  return signed_text(metric, change.low) + " to " + signed_text(metric, change.high);
}

std::string percent_text(const Change& change) {
  if (!(std::abs(change.before.value) > 0)) return "";
  return fmt::format("{:+.1f} %", 100 * change.value / std::abs(change.before.value));
}

std::string p_text(double p) {
  constexpr double kMin = 1e-6;  // tails below are not computed exactly
  if (p < kMin) return "<1e-6";
  return p < 0.001 ? fmt::format("{:.0e}", p) : fmt::format("{:.2g}", p);
}

std::string row_text(const FrameGroup& group, const RowNotes& notes) {
  const std::string place = place_cell(group.name, group.file, group.line, group.module);
  const std::string name =
      place.empty() || place == group.name ? group.name : fmt::format("{} ({})", group.name, place);
  const std::vector<std::string> beside = note_cells(notes);
  return beside.empty() ? name : name + ", " + beside.front();
}

std::string total_title(Metric metric) {
  switch (metric) {
    case Metric::kResidentSpace:
      return "in memory";  // "resident" is all of the process
    case Metric::kMappedResidentSpace:
      return "mapped, resident";
    case Metric::kMappedResidentObjects:
      return "mappings, resident";
    default:
      return metric_title(metric);
  }
}

std::string total_text(const Comparison& comparison, Metric metric) {
  const Change& change = comparison.totals[metric_index(metric)];
  std::string text = fmt::format("{} to {}: ", format_metric(metric, change.before.value),
                                 format_metric(metric, change.after.value));
  if (change.value == 0) return text + "no change";
  text += signed_text(metric, change.value);
  if (change.is_tested && change.low != change.high) {
    text += fmt::format(" (95 %: {})", interval_text(metric, change));
  }
  if (const std::string percent = percent_text(change); !percent.empty()) text += ", " + percent;
  if (!change.is_tested) return text;
  if (change.low == change.high) return text + ", exact";
  return text +
         fmt::format(", {}significant (p {})", is_significant(change) ? "" : "not ", p_text(change.p_value));
}

std::string row_name(GroupBy by, size_t count) {
  std::string one = group_by_name(by);
  if (count == 1) return one;
  return by == GroupBy::kProcess ? one + "es" : one + "s";
}

std::string others_text(const Comparison& comparison) {
  const size_t count = comparison.others.size();
  if (count == 0) return "";
  const bool is_all = comparison.growth.empty() && comparison.shrinkage.empty();
  return fmt::format("{}{} {} did not change{}: {} together.", format_count(static_cast<double>(count)),
                     is_all ? "" : " other", row_name(comparison.by, count),
                     comparison.is_tested ? " significantly" : "",
                     signed_text(comparison.metric, comparison.others_after - comparison.others_before));
}

std::string method_text(const Comparison& comparison) {
  if (!comparison.is_tested) {
    return "Nothing is known of how exact these values are: whether a change is more than chance cannot be "
           "said.";
  }
  const size_t rows = comparison.row_count();
  const bool has_spread = comparison.before.files.size() > 1 || comparison.after.files.size() > 1;
  return fmt::format(
      "Significant: p is at most {} after the correction of Benjamini and Hochberg for {} row{}{}; of the "
      "rows listed 5 % may be there by chance.",
      kSignificance, format_count(static_cast<double>(rows)), rows == 1 ? "" : "s",
      has_spread ? ", by the samples and by the spread between the files" : "");
}

std::string side_text(const ComparedSide& side) {
  const ComparedFile& first = side.files.front();
  uint64_t samples = 0;
  bool has_one_program = true;
  for (const ComparedFile& file : side.files) {
    samples += file.samples;
    has_one_program = has_one_program && file.program == first.program;
  }
  std::string text = first.program.empty() ? "unknown program" : first.program;
  if (!has_one_program) text += " and others";
  if (side.files.size() > 1) {
    text += fmt::format(", {} files (their mean)", side.files.size());
  } else {
    if (first.pid != 0) text += fmt::format(" (pid {})", first.pid);
    if (first.time_unix_ns != 0) {
      const auto seconds = static_cast<std::time_t>(first.time_unix_ns / 1'000'000'000);
      text += fmt::format(", {:%Y-%m-%d %H:%M:%S} UTC", fmt::gmtime(seconds));
    }
    if (first.duration_ns != 0) {
      text += fmt::format(", after {:.1f} s", static_cast<double>(first.duration_ns) / 1e9);
    }
  }
  if (!first.from_memprof) return text;
  text += side.facts.rate_bytes <= 1 ? "; every allocation" : "; rate " + format_rate(side.facts.rate_bytes);
  return text +
         fmt::format(", {} sample{}", format_count(static_cast<double>(samples)), samples == 1 ? "" : "s");
}

}  // namespace memprof::profile
