// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/leak_verdict.h"

#include <algorithm>
#include <cmath>

#include "profile/lifetimes/temporary.h"

namespace memprof::profile {
namespace {

constexpr double kFewSamples = 5;
constexpr double kSignificant = 0.05;
constexpr double kSettled = 0.9;  // of those that come to an age, at least so many are never freed
constexpr double kMax = 0.9;

// The least age, in parts of the run, from which on nearly nothing is freed; nothing: there is none.
std::optional<uint32_t> settled_part(const SurvivalCurve& curve) {
  const SurvivalPoint* end = curve.end();
  if (end == nullptr) return std::nullopt;
  for (uint32_t part = 0; part <= kBirthParts / 2; ++part) {
    const SurvivalPoint& point = curve.at_part(part);
    if (point.age_ns >= end->age_ns) return std::nullopt;
    if (point.share > 0 && end->share >= kSettled * point.share) return part;
  }
  return std::nullopt;
}

// The age that one in twenty of what lives is older than, as the end of its part.
double oldest(const SiteLives& lives, double live_samples) {
  double left = 0.05 * live_samples;
  for (uint32_t part = 0; part < kBirthParts; ++part) {
    left -= lives.living[part].samples;
    if (left < 0) return lives.oldest_ns(part);
  }
  return 0;
}

double median_lifetime(const SiteLives& lives) {
  LifetimeHistogram histogram;
  for (uint32_t i = 0; i < kLifetimeClasses; ++i) {
    Lifetime lifetime;
    lifetime.lifetime_class = i;
    lifetime.weight_count = lives.freed[i].blocks;
    histogram.add(lifetime);
  }
  return histogram.quantile_ns(0.5);
}

// Much was freed, and what little lives is young.
bool is_turned_over(const Assessment& a, const SiteLives& lives) {
  constexpr uint32_t kYoungParts = kBirthParts / 4;
  return a.freed_samples >= kFewSamples && a.oldest_ns <= lives.age_ns(kYoungParts);
}

// Of what comes to half the length of the run, how much is freed later tells turning over from what may be a leak
// among blocks that live long.
bool may_be_kept(const SurvivalCurve& curve, const SiteLives& lives) {
  constexpr double kFreedLater = 0.2;
  constexpr uint32_t kHalf = kBirthParts / 2;
  double kept = 0;
  for (uint32_t part = 0; part < kHalf; ++part) kept += lives.living[part].samples;
  const double freed = curve.at_part(kHalf).at_risk_samples - kept;
  return kept >= kFewSamples && freed < kFreedLater * kept;
}

// At a level so many live as come in the time that one of them lives (Little's law).  Far more live than that: what was
// freed is garbage of a place that keeps the rest.  All of it is taken to have come while the oldest of these lived; it
// was seldom so much at once.
bool is_explained_by_turnover(const Assessment& a, const SiteLives& lives) {
  constexpr double kFarMore = 10;
  double blocks = 0;
  for (uint32_t i = 0; i < kLifetimeClasses; ++i) {
    blocks += lives.freed[i].blocks *
              std::min(static_cast<double>(lifetime_class_end_ns(i)) / std::max(a.oldest_ns, 1.0), 1.0);
  }
  return lives.all_living().blocks <= kFarMore * blocks;
}

LeakVerdict without_old(const Assessment& a, const SiteLives& lives) {
  if (a.freed_samples >= kFewSamples && is_explained_by_turnover(a, lives)) return LeakVerdict::kLevel;
  const LivesSum& newest = lives.living[kBirthParts - 1];
  return newest.samples >= kMax * a.live_samples ? LeakVerdict::kYoung : LeakVerdict::kUnknown;
}

LeakVerdict of_births(const BirthSpread& births) {
  constexpr uint32_t kQuarter = kBirthParts / 4;
  constexpr uint32_t kMoment = 2;
  const uint32_t dense_end = births.dense_first + births.dense_parts;
  if (dense_end <= kQuarter) return LeakVerdict::kStart;
  if (births.dense_parts <= kMoment && dense_end + kMoment <= births.parts) return LeakVerdict::kOnce;
  if (births.dense_parts <= kMoment && births.parts == kBirthParts) return LeakVerdict::kYoung;
  if (births.has_stopped || births.has_faded) return LeakVerdict::kFilled;
  if (births.is_slowing) return LeakVerdict::kUnknown;
  return LeakVerdict::kLeak;
}

// Some of what lived about as long as the run was freed, and little of what lived less long: a queue that turns over for
// the first time as the run ends.  What a program freed while it ended, and was taken out of its lifetimes on average
// only, may look so, too: then more is asked.
bool is_turning_over(const Assessment& a, const SiteLives& lives) {
  constexpr double kNearlyRun = 0.9;
  constexpr double kYounger = 0.5;
  const double fewest = lives.is_corrected ? 5 : 2;
  const double min_share = lives.is_corrected ? 0.05 : 0.01;
  double late = 0;
  double before = 0;  // of the class below
  for (uint32_t i = 0; i < kLifetimeClasses; ++i) {
    if (static_cast<double>(lifetime_class_end_ns(i)) > kNearlyRun * lives.run_ns) {
      late += lives.freed[i].samples;
    } else {
      before = lives.freed[i].samples;
    }
  }
  return late >= fewest && late >= min_share * a.births.samples && late > kYounger * before;
}

}  // namespace

void drop_chance(double corrected_p, LeakVerdict* verdict) {
  if (*verdict == LeakVerdict::kLeak && corrected_p > kSignificant) *verdict = LeakVerdict::kUnknown;
}

const char* verdict_name(LeakVerdict verdict) {
  static constexpr const char* kNames[kLeakVerdicts] = {"leak", "level", "filled", "start",
                                                        "once", "young", "unknown"};
  return kNames[static_cast<size_t>(verdict)];
}

double needed_factor(LeakVerdict verdict, const Assessment& assessment) {
  constexpr double kEnoughSamples = 20;
  constexpr double kOld = 4;
  constexpr double kLonger = 2;
  const double for_samples = std::ceil(kEnoughSamples / std::max(assessment.live_samples, 1.0));
  return std::max(verdict == LeakVerdict::kYoung ? kOld : kLonger, for_samples);
}

bool may_end(const Assessment& a) {
  return a.is_turning_over || a.births.is_slowing || a.births.has_halved || a.births.may_have_stopped;
}

namespace {

bool is_leak(const Assessment& a) {
  return a.verdict == LeakVerdict::kLeak && a.p_value <= kSignificant;
}

}  // namespace

ClockChoice choose_clock(const Assessment& by_time, const Assessment& by_load, const LoadEvidence& evidence) {
  constexpr double kServing = 0.15;
  constexpr double kLoading = 0.5;
  const bool may_serve = !evidence.is_of_module_loads && evidence.kept_share <= kLoading;
  if (is_leak(by_time)) return ClockChoice::kTime;
  if (is_leak(by_load)) {
    if (!may_serve) return ClockChoice::kTime;
    return evidence.kept_share <= kServing ? ClockChoice::kLoad : ClockChoice::kDoubt;
  }
  if (!evidence.is_idle || evidence.is_born_idle) return ClockChoice::kTime;
  switch (by_load.verdict) {
    case LeakVerdict::kLevel:
    case LeakVerdict::kFilled:
    case LeakVerdict::kStart:
    case LeakVerdict::kOnce:
      return ClockChoice::kLoad;
    case LeakVerdict::kYoung:
      return ClockChoice::kTime;  // no more, by now
    case LeakVerdict::kLeak:
    case LeakVerdict::kUnknown:
      break;
  }
  return may_serve ? ClockChoice::kLoad : ClockChoice::kTime;
}

Assessment assess(const SiteLives& lives) {
  Assessment a;
  a.freed_samples = lives.all_freed().samples;
  a.live_samples = lives.all_living().samples;
  a.median_lifetime_ns = median_lifetime(lives);
  a.oldest_ns = oldest(lives, a.live_samples);
  if (!(lives.run_ns > 0) || a.live_samples < kFewSamples) {
    if (a.live_samples > 0 && is_turned_over(a, lives)) a.verdict = LeakVerdict::kLevel;
    return a;
  }
  const SurvivalCurve curve(lives);
  const std::optional<uint32_t> settled = settled_part(curve);
  if (!settled) {
    if (!may_be_kept(curve, lives)) a.verdict = without_old(a, lives);
    return a;
  }
  a.settled_after_ns = lives.age_ns(*settled);
  a.never_freed = SurvivalCurve::interval(*curve.end());
  a.births = birth_spread(lives, kBirthParts - *settled);
  if (a.births.samples < kFewSamples) {
    a.verdict = without_old(a, lives);
    return a;
  }
  a.verdict = of_births(a.births);
  a.is_tested = true;
  // What is kept says little of a place most of which comes and goes.
  constexpr double kMinor = 0.5;
  if (a.verdict != LeakVerdict::kLeak && a.freed_samples >= kFewSamples &&
      a.births.samples < kMinor * a.live_samples) {
    a.verdict = LeakVerdict::kLevel;
  }
  a.is_turning_over = is_turning_over(a, lives);
  if (a.verdict == LeakVerdict::kLeak && may_end(a)) a.verdict = LeakVerdict::kUnknown;
  a.p_value = a.verdict == LeakVerdict::kLeak ? a.births.p_value : 1;
  return a;
}

}  // namespace memprof::profile
