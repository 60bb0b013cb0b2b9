// SPDX-License-Identifier: Apache-2.0
// A series: what a process, or the processes of a run, held at many moments (looks), in one file.
//
// Model: the file is a line that says what it is, a line of JSON with what all looks have in common, and then
// one record a look: its figures, compressed JSON, and its profile, compressed pprof.  Figures are read without
// the profiles.  docs/series.md describes the file.
//
// Threads: plain values.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "format/resident.h"
#include "profile/model/estimate.h"
#include "profile/model/model.h"

namespace memprof::profile {

// What the system says of the memory of the processes and of their group, by the name that the file has for it;
// what is not known is missing.
using SystemFigures = std::map<std::string, uint64_t>;

// One of the functions that held the most at a look.
struct SeriesSite {
  std::string name;
  std::string file;    // source file; empty: unknown
  std::string module;  // empty: unknown, or the function is in several
  int64_t line = 0;    // the one that held the most; 0: unknown
  double live_bytes = 0;
};

struct SeriesLook {
  uint64_t time_unix_ns = 0;
  uint64_t processes = 1;
  std::map<Metric, Estimate> totals;  // those that the profile has
  SystemFigures system;
  std::vector<SeriesSite> sites;  // the largest first
  uint64_t profile_offset = 0;    // in the file
  uint64_t profile_bytes = 0;     // there
};

struct Series {
  std::string program;
  uint64_t pid = 0;
  uint64_t every_ns = 0;          // between two looks, as they were asked for
  std::vector<SeriesLook> looks;  // by time
  // Bytes at the end that are no whole look: it is being written, or memprof was killed, or the file is damaged.
  uint64_t cut_bytes = 0;
};

// The figures of a look at processes, but for those of the system: of their profile with its names.
SeriesLook figures_of(const Profile& profile, uint64_t processes);

// Of what the processes had in memory, as "resident_..._bytes"; what is not explained is 0 where the heap's estimate is
// above what there is.  Nothing where nothing is known.
void add_resident_figures(const ResidentMemory& memory, SystemFigures* figures);

// What the look holds; 0: not known.
double live_bytes_of(const SeriesLook& look);

// As it stands in text: "2026-05-01 14:05:10 CEST", local time.
std::string time_text(uint64_t time_unix_ns);

}  // namespace memprof::profile
