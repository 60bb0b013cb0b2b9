// SPDX-License-Identifier: Apache-2.0
// Some looks of a series that stand for it: few enough to read them all at once.
//
// Model: the last of them is the one to judge a process by.  It is the last one of the series, but for a program
// that was already cleaning up: among the last four looks, it is the latest that holds nine tenths of what the fullest of
// them holds.
//
// Threads: no state.
// Failure: throws Error "PATH: a series without a look".
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "profile/series/series.h"

namespace memprof::profile {

struct SeriesChoice {
  std::vector<const SeriesLook*>
      looks;         // by time; the last one is to be judged; of the series that was given
  size_t later = 0;  // looks of the series after that one
};

// At most so many, at least 1, spread evenly over the time until the one to judge.  `path` stands in messages.
SeriesChoice choose_looks(const Series& series, size_t max, const std::string& path);

}  // namespace memprof::profile
