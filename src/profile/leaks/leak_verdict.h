// SPDX-License-Identifier: Apache-2.0
// What the lives of the blocks of one place say: it leaks, it has reached its level, it was allocated at the start ...
//
// Model: docs/decisions/0071-leaks.md.  From the survival curve follows the least age, a number of sixteenths of the
// run and at most half of it, after which nearly nothing is freed any more.  What lives and is older than that is
// "never freed"; whether its births are spread over the run says whether the place leaks.
//
// Threads: no state.
#pragma once

#include <cstdint>
#include <optional>

#include "profile/leaks/birth_spread.h"
#include "profile/leaks/site_lives.h"
#include "profile/leaks/survival_curve.h"

namespace memprof::profile {

enum class LeakVerdict : uint8_t {
  kLeak,     // grows without end
  kLevel,    // steady turnover: blocks are freed as fast as they are allocated
  kFilled,   // grew, and has stopped or slows down
  kStart,    // allocated in the first quarter of the run and kept
  kOnce,     // allocated within a moment and kept
  kYoung,    // allocated at the very end
  kUnknown,  // not enough data
};
inline constexpr size_t kLeakVerdicts = 7;
// "leak", "level", "filled", "start", "once", "young", "unknown"
const char* verdict_name(LeakVerdict verdict);

// A leak that is not significant among the places that were judged, by its corrected p-value, is unknown.
void drop_chance(double corrected_p, LeakVerdict* verdict);

struct Assessment {
  // kLeak: where its p-value, corrected for the number of places, is small enough; else it is unknown.
  LeakVerdict verdict = LeakVerdict::kUnknown;
  double p_value = 1;  // that it does not leak; only where it was tested
  bool is_tested = false;
  double settled_after_ns = 0;  // nearly nothing that is older is freed
  ShareInterval never_freed;    // of all blocks of the place
  BirthSpread births;           // of what is older than that
  // Some blocks were freed after about the length of the run, few after less.
  bool is_turning_over = false;
  double freed_samples = 0;
  double live_samples = 0;
  double median_lifetime_ns = 0;  // of what was freed
  double oldest_ns = 0;           // an age that nearly nothing that lives has
};

// Nothing can be told of the place yet.
inline bool is_untold(LeakVerdict verdict) {
  return verdict == LeakVerdict::kUnknown || verdict == LeakVerdict::kYoung;
}
// About how many times as long the run has to be for a verdict: until there are enough samples, if the place goes on as
// it did, and until what is young is old.
double needed_factor(LeakVerdict verdict, const Assessment& assessment);

// It grew, and there is a sign that it stops, by what may still be chance: no leak can be told.
bool may_end(const Assessment& assessment);

Assessment assess(const SiteLives& lives);

// What else is known of a place whose births were looked at by time and by load.
struct LoadEvidence {
  double kept_share = 1;            // CallerSums::min_kept_share()
  bool is_of_module_loads = false;  // most of it was born while modules were loaded
  bool is_idle = false;             // the process was, when it was looked at
  bool is_born_idle = false;        // most of what lives of it was born since then: by load it has no age
};

// By which clock a place is judged.
enum class ClockChoice : uint8_t {
  kTime,
  kLoad,
  // By load it leaks, and by time it has stopped; and what allocated it kept so much that it may have been loading
  // something: nothing tells which.
  kDoubt
};
// Growth that goes on as time does is growth by either clock.  Else idle time is no evidence for those that serve
// requests: their callers give back nearly all.  Who keeps most of what it allocates is done when it stops.
ClockChoice choose_clock(const Assessment& by_time, const Assessment& by_load, const LoadEvidence& evidence);

}  // namespace memprof::profile
