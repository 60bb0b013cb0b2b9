// SPDX-License-Identifier: Apache-2.0
// Which places of a runtime's own heap grow: of a heap that is collected it is known what lies in it at each look, and who
// made it, not since when.
//
// Model: until garbage is collected it lies there, so that a place goes up and down.  The looks are cut into eighths
// of their time; a place kept about the least that it has in one.  A line goes through the last four of these, which
// says how far they lie off it.  Where the heap was hardly collected meanwhile it tells nothing.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "profile/leaks/leak_verdict.h"
#include "profile/leaks/place_key.h"
#include "profile/leaks/slope.h"

namespace memprof::profile {

struct HeapRow {
  FrameGroup place;
  LeakVerdict verdict = LeakVerdict::kUnknown;  // or kLeak, kLevel
  double bytes = 0;
  std::optional<Slope> slope;  // of several profiles between which garbage was collected
};

struct HeapLeaks {
  std::vector<HeapRow> rows;  // those that grow first, then what holds most
  size_t suspects = 0;
  double bytes = 0;
};

// At one look.
class HeapPlaces {
 public:
  void add(const FrameGroup& place, const std::string& process, double bytes);

 private:
  friend HeapLeaks judge_heap(const std::vector<const HeapPlaces*>& looks, const std::vector<double>& minutes,
                              const std::set<std::string>& processes, double rate_bytes);
  struct Place {
    FrameGroup group;
    double bytes = 0;
    std::map<std::string, double> by_process;
  };
  static double bytes_of(const Place& place, const std::set<std::string>& processes);

  std::map<PlaceKey, Place> places_;
};

// The last look's places; `minutes`: of each look.  A line goes through those of these processes only.  Places that hold
// little of the heap are not judged; p-values of the others are corrected for their number (Benjamini and Hochberg).
HeapLeaks judge_heap(const std::vector<const HeapPlaces*>& looks, const std::vector<double>& minutes,
                     const std::set<std::string>& processes, double rate_bytes);

struct HeapLook {
  double minutes = 0;
  double bytes = 0;       // of the place
  double heap_bytes = 0;  // of all places
};

// `looks` ascending by time; `rate_bytes`: of the sampling.  Nothing: too few looks, or too few collections between
// them.
std::optional<Slope> heap_slope_of(const std::vector<HeapLook>& looks, double rate_bytes);

// kLeak: it grows, by more than chance, and by a part of what it has that matters.  kLevel: by no such part.  Else
// kUnknown.
LeakVerdict heap_verdict(const Slope& slope, const std::vector<HeapLook>& looks);

}  // namespace memprof::profile
