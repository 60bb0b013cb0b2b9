// SPDX-License-Identifier: Apache-2.0
#include "profile/series/series_choice.h"

#include <algorithm>

#include "profile/model/error.h"

namespace memprof::profile {
namespace {

// The number of the look to judge.
size_t judged_look(const std::vector<SeriesLook>& looks) {
  constexpr size_t kOfTheEnd = 4;
  constexpr double kStillHeld = 0.9;
  const size_t first = looks.size() - std::min(looks.size(), kOfTheEnd);
  double max = 0;
  for (size_t i = first; i < looks.size(); ++i) max = std::max(max, live_bytes_of(looks[i]));
  size_t judged = looks.size() - 1;
  while (judged > first && live_bytes_of(looks[judged]) < kStillHeld * max) --judged;
  return judged;
}

}  // namespace

SeriesChoice choose_looks(const Series& series, size_t max, const std::string& path) {
  const std::vector<SeriesLook>& looks = series.looks;
  if (looks.empty()) throw Error(path + ": a series without a look");
  const size_t judged = judged_look(looks);
  SeriesChoice choice;
  choice.later = looks.size() - 1 - judged;
  if (judged < max) {
    for (size_t i = 0; i <= judged; ++i) choice.looks.push_back(&looks[i]);
    return choice;
  }
  const auto first_ns = static_cast<double>(looks.front().time_unix_ns);
  const double span = static_cast<double>(looks[judged].time_unix_ns) - first_ns;
  const size_t steps = max - 1;
  // The nearest to each step; two steps may have the same one.
  size_t next = 0;
  for (size_t step = 0; step < steps; ++step) {
    const double wanted = first_ns + span * static_cast<double>(step) / static_cast<double>(steps);
    const auto distance = [&](size_t i) {
      const double after = static_cast<double>(looks[i].time_unix_ns) - wanted;
      return after < 0 ? -after : after;
    };
    while (next + 1 < judged && distance(next + 1) <= distance(next)) ++next;
    if (choice.looks.empty() || choice.looks.back() != &looks[next]) choice.looks.push_back(&looks[next]);
  }
  choice.looks.push_back(&looks[judged]);
  return choice;
}

}  // namespace memprof::profile
