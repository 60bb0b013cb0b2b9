// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>

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

std::string time_of(uint32_t part, const LeakRow& row, const Leaks& leaks) {
  return format_duration_ns(part_begin_ns(part, row, leaks));
}

std::string since(const LeakRow& row, const Leaks& leaks) {
  const uint32_t first = row.assessment.births.first;
  return first == 0 ? "since the start" : "since " + time_of(first, row, leaks) + " after the start";
}

// ", as long as ...": nothing where the program is not idle, or the place is judged by time.
std::string while_busy(const LeakRow& row, const Leaks& leaks) {
  return row.clock == ClockChoice::kTime || !(leaks.idle_ns() > 0) ? "" : ", as long as the program was busy";
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
  text += fmt::format(", {}{}: {}", since(row, leaks), while_busy(row, leaks), rate_text(row.growth));
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
  if (row.clock == ClockChoice::kDoubt) {
    return fmt::format(
        "grew as long as the program allocated{}: a leak, or something that was loaded; more load tells",
        leaks.idle_ns() > 0 ? ", and it is " + idle_since(leaks) : "");
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
      a.births.samples, since(row, leaks));
}

}  // namespace

double part_begin_ns(uint32_t part, const LeakRow& row, const Leaks& leaks) {
  return row.clock == ClockChoice::kTime ? leaks.run_ns * part / kBirthParts
                                         : static_cast<double>(leaks.load.at_ns[part]);
}

std::string idle_since(const Leaks& leaks) {
  const auto idle_ns = static_cast<uint64_t>(leaks.idle_ns());
  const auto seconds =
      static_cast<time_t>((leaks.judged_unix_ns - std::min(idle_ns, leaks.judged_unix_ns)) / 1'000'000'000);
  tm parts{};
  std::array<char, 16> text{};
  const bool is_known = localtime_r(&seconds, &parts) != nullptr &&
                        std::strftime(text.data(), text.size(), "%H:%M:%S", &parts) != 0;
  return (is_known ? fmt::format("idle since {}, ", text.data()) : std::string("idle ")) + "for " +
         format_duration_ns(leaks.idle_ns());
}

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
                                                time_of(a.births.last + 1, row, leaks))
                                  : "grew ever slower, and hardly at the end";
    case LeakVerdict::kStart:
      return fmt::format("allocated in the first {} and kept: warm-up, tables, a pool",
                         time_of(a.births.dense_first + a.births.dense_parts, row, leaks));
    case LeakVerdict::kOnce:
      return fmt::format("allocated between {} and {} after the start, and kept",
                         time_of(a.births.dense_first, row, leaks),
                         time_of(a.births.dense_first + a.births.dense_parts, row, leaks));
    case LeakVerdict::kYoung:
      return "allocated at the end of the run: too young to tell";
    case LeakVerdict::kUnknown:
      break;
  }
  return unknown_text(row, leaks);
}

}  // namespace memprof::profile
