// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <cmath>

#include "profile/leaks/leaks_report.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

// "12 %", and of small shares enough digits to see one.
std::string percent(double share) {
  const double value = 100 * share;
  const int digits = value >= 10 || value == 0 ? 0 : value >= 1 ? 1 : value >= 0.1 ? 2 : 3;
  return fmt::format("{:.{}f} %", value, digits);
}

std::string rate_text(const GrowthRate& rate) {
  return fmt::format("{} a minute (95 %: {} to {})", format_bytes(rate.bytes_per_minute),
                     format_bytes(rate.low), format_bytes(rate.high));
}

// The begin of a part of the run, after the start.
std::string time_of(uint32_t part, const Leaks& leaks) {
  return format_duration_ns(leaks.run_ns * part / kBirthParts);
}

std::string since(const BirthSpread& births, const Leaks& leaks) {
  return births.first == 0 ? "since the start" : "since " + time_of(births.first, leaks) + " after the start";
}

std::string slope_text(const Slope& slope, const Leaks& leaks) {
  return fmt::format("a line through the last {}: {} a minute (95 %: {} to {})",
                     leaks.are_looks ? "looks" : "profiles", format_bytes(slope.bytes_per_minute),
                     format_bytes(slope.low), format_bytes(slope.high));
}

std::string leak_text(const LeakRow& row, const Leaks& leaks) {
  const Assessment& a = row.assessment;
  std::string text;
  if (a.births.samples == 0 || a.freed_samples == 0 || a.never_freed.share > 0.995) {
    text =
        a.freed_samples == 0 ? "no block of this place was freed" : "nearly no block of this place is freed";
  } else {
    text = fmt::format("{} of the blocks of this place (95 %: {} to {}) are never freed",
                       percent(a.never_freed.share), percent(a.never_freed.low), percent(a.never_freed.high));
    if (a.settled_after_ns > 0) {
      text += fmt::format(" (the others within {})", format_duration_ns(a.settled_after_ns));
    }
  }
  text += fmt::format(", {}: {}", since(a.births, leaks), rate_text(row.growth));
  if (row.slope) text += "; " + slope_text(*row.slope, leaks);
  return text;
}

std::string unknown_text(const LeakRow& row, const Leaks& leaks) {
  constexpr double kFew = 5;
  const Assessment& a = row.assessment;
  if (a.live_samples < kFew) {
    return fmt::format("{:.0f} live sample{} too few to tell", a.live_samples,
                       a.live_samples == 1 ? " is" : "s are");
  }
  if (a.births.samples == 0) return "some old blocks are freed and some are not: a longer run tells";
  if (a.is_turning_over) {
    return "some blocks that lived about as long as the run were freed: a longer run tells whether all are";
  }
  if (a.births.is_slowing || a.births.has_halved)
    return "grows ever slower: a longer run tells whether it stops";
  if (a.births.may_have_stopped) return "had less at its end: a longer run tells whether it has stopped";
  return fmt::format(
      "{:.0f} samples that are kept, {}: too few, or not spread enough over the run, to tell growth "
      "from chance",
      a.births.samples, since(a.births, leaks));
}

}  // namespace

const char* verdict_text(LeakVerdict verdict) {
  static constexpr const char* kTexts[kLeakVerdicts] = {
      "grows, by blocks that are never freed",
      "steady turnover of blocks",
      "grew, and has stopped or slows down: a cache or a table that is full",
      "allocated in the first quarter of the run and kept",
      "allocated within a moment and kept",
      "allocated at the end of the run: too young to tell",
      "not enough data; --why says what is missing"};
  return kTexts[static_cast<size_t>(verdict)];
}

std::string leak_reason(const LeakRow& row, const Leaks& leaks) {
  const Assessment& a = row.assessment;
  switch (row.verdict) {
    case LeakVerdict::kLeak:
      return leak_text(row, leaks);
    case LeakVerdict::kLevel:
      if (a.births.p_value < 1 && row.slope && a.verdict == LeakVerdict::kLeak) {
        return "grew at first, and no more: " + slope_text(*row.slope, leaks);
      }
      return fmt::format(
          "steady turnover: median lifetime of freed blocks {}; 95 % of live blocks are younger than {}",
          format_duration_ns(a.median_lifetime_ns), format_duration_ns(a.oldest_ns));
    case LeakVerdict::kFilled:
      return a.births.has_stopped ? fmt::format("grew until {} after the start, and hardly since",
                                                time_of(a.births.last + 1, leaks))
                                  : "grew ever slower, and hardly at the end";
    case LeakVerdict::kStart:
      return fmt::format("allocated in the first {} and kept: warm-up, tables, a pool",
                         time_of(a.births.dense_first + a.births.dense_parts, leaks));
    case LeakVerdict::kOnce:
      return fmt::format("allocated between {} and {} after the start, and kept",
                         time_of(a.births.dense_first, leaks),
                         time_of(a.births.dense_first + a.births.dense_parts, leaks));
    case LeakVerdict::kYoung:
      return "allocated at the end of the run: too young to tell";
    case LeakVerdict::kUnknown:
      break;
  }
  return unknown_text(row, leaks);
}

}  // namespace memprof::profile
