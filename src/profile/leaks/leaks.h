// SPDX-License-Identifier: Apache-2.0
// Which places of a program leak: from one profile of it, or from several of one process.
//
// Model: a place is where reports have `self`.  Each is assessed by the lives of its blocks (leak_verdict.h); p-values
// are corrected for the number of places (Benjamini and Hochberg).  Several profiles of one process also tell how
// what lives of a place went over time: where a line through them does not rise, the place has reached its level.
// Where the line rises, and the blocks of one profile were too few for a verdict, the place leaks.
//   Births are looked at by two clocks: by time, and by load (format/load/load_clock.h), which stands still while the process
// is idle.  Looks of idle time are not in the line.
//
// Threads: plain values.
// Failure: throws Error where a profile does not say how long blocks live, or profiles are not of one process.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profile/leaks/heap_leaks.h"
#include "profile/leaks/leak_verdict.h"
#include "profile/leaks/slope.h"
#include "profile/matching/stack_filter.h"
#include "profile/model/estimate.h"
#include "profile/names/frame_grouping.h"
#include "profile/view/row_notes.h"

namespace memprof::profile {

struct NamedProfile {
  std::string name;  // for messages
  Profile profile;
};

struct LeakRow {
  FrameGroup place;
  // Of a native place, by function or line: the line of a language's runtime that called it, in the stack that holds most.
  std::optional<FrameGroup> caller;
  RowNotes notes;
  LeakVerdict verdict = LeakVerdict::kUnknown;
  Assessment assessment;
  double corrected_p = 1;
  Estimate live_bytes;
  double live_blocks = 0;
  ClockChoice clock = ClockChoice::kTime;  // kLoad, kDoubt: the assessment is by load
  GrowthRate growth;                       // of a leak; by load: in a minute of it
  std::optional<Slope> slope;              // of several profiles
};

struct Leaks {
  std::vector<LeakRow> rows;  // suspects first, the fastest first; then what holds most
  size_t suspects = 0;
  size_t tested = 0;
  std::array<size_t, kLeakVerdicts> numbers{};
  GrowthRate growth;       // of all suspects
  HeapLeaks heap;          // a runtime's own, apart from all of these
  size_t profiles = 0;     // that were used
  bool are_looks = false;  // of a series
  std::string judged;      // the name of the last of them
  uint64_t judged_unix_ns = 0;
  double run_ns = 0;
  LoadTimes load;  // of the profile that is judged; not known: rows are judged by time
  bool is_idle = false;
  // How long the process had been idle by then; 0: it was not, or nobody knows.
  double idle_ns() const { return is_idle ? std::max(run_ns - static_cast<double>(load.end_ns()), 0.0) : 0; }
  Estimate live_bytes;
  double untold_bytes = 0;  // live, of places that nothing can be told of yet
  double needed_ns = 0;  // about how long a run has to be that tells of the largest of them; 0: there is none
  double expected_bytes = 0;  // live, of stacks that `expected` names
  bool has_expected = false;

  // No suspect, and most of what lives may be one: that is no answer.
  bool is_open() const {
    return suspects == 0 && heap.suspects == 0 && untold_bytes > 0 &&
           2 * untold_bytes > live_bytes.value + expected_bytes;
  }
};

struct LeakOptions {
  GroupBy by = GroupBy::kFunction;
  StackFilter filter;
  FrameView view;
  // Stacks that may grow: one of their frames matches.
  std::optional<Pattern> expected;
  // The profiles are looks of one series: of one process, or of all that a run had at that moment, each stack with its
  // process.  A process that began or ended within the time that the line of a place goes through is not in that line.
  // Looks at the end that have no process that `filter` names are left out.
  bool are_of_a_series = false;
};

// At least one; in any order.
Leaks find_leaks(std::vector<NamedProfile> profiles, const LeakOptions& options = {});

// The same of many, by time: each is asked for once, from the last one on, and let go before the next.
Leaks find_leaks(size_t count, const std::function<NamedProfile(size_t)>& profile_at,
                 const LeakOptions& options);

}  // namespace memprof::profile
