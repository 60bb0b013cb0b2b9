// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/slope.h"

#include <algorithm>
#include <cmath>

#include "profile/model/estimate.h"
#include "profile/significance/distributions.h"

namespace memprof::profile {
namespace {

constexpr size_t kFewestLooks = 3;
constexpr double kDeviations = 1.959964;

// The standard deviation of a slope of what is at its level.
double chance_deviation(const Look& first, const Look& last) {
  // None in a time may be so many in the long run, with 95 %.
  constexpr double kMinEvents = 4;
  // Of a line through a random walk, over that of its ends.
  constexpr double kWalk = 1.2;
  const double samples = first.samples + last.samples;
  const double minutes = last.minutes - first.minutes;
  if (!(samples > 0) || !(minutes > 0)) return 0;
  const double events = last.events < first.events ? samples : std::min(last.events - first.events, samples);
  const double square = (first.square_bytes + last.square_bytes) / samples;
  return std::sqrt(kWalk * std::max(events, kMinEvents) * square) / minutes;
}

}  // namespace

void add_to_look(const Stack& stack, Look* look) {
  look->bytes += estimated_value(stack, Metric::kInuseSpace);
  look->events += static_cast<double>(stack.allocated.samples + stack.freed.samples);
  for (const LiveGroup& group : stack.live) {
    const auto samples = static_cast<double>(group.samples);
    const double bytes =
        static_cast<double>(group.size_bytes) / sampling_probability(group.size_bytes, group.rate_bytes);
    look->samples += samples;
    look->square_bytes += samples * bytes * bytes;
  }
}

std::vector<BusyTime> busy_looks(const std::vector<LookTime>& looks) {
  constexpr double kIdle = 0.05;
  constexpr double kFewestSamples = 8;
  std::vector<BusyTime> busy;
  if (looks.empty()) return busy;
  busy.push_back({0, 0});
  const double all_minutes = looks.back().minutes - looks.front().minutes;
  const double all_bytes = looks.back().freed_bytes - looks.front().freed_bytes;
  for (size_t i = 1; i < looks.size(); ++i) {
    const double minutes = looks[i].minutes - looks[i - 1].minutes;
    const double bytes = looks[i].freed_bytes - looks[i - 1].freed_bytes;
    const double expected = all_minutes > 0 ? all_bytes * minutes / all_minutes : 0;
    // Less than before: a process has ended.
    const bool is_idle = bytes >= 0 && bytes < kIdle * expected &&
                         expected > kFewestSamples * std::max(looks[i].rate_bytes, 1.0);
    if (!is_idle) busy.push_back({i, busy.back().minutes + minutes});
  }
  return busy;
}

size_t first_of_line(size_t looks) {
  return looks < kFewestLooks ? 0 : looks - std::max(kFewestLooks, (looks + 1) / 2);
}

std::optional<Slope> slope_of(const std::vector<Look>& looks) {
  if (looks.size() < kFewestLooks) return std::nullopt;
  const size_t first = first_of_line(looks.size());
  const auto n = static_cast<double>(looks.size() - first);
  double mean_time = 0;
  double mean_bytes = 0;
  for (size_t i = first; i < looks.size(); ++i) {
    mean_time += looks[i].minutes / n;
    mean_bytes += looks[i].bytes / n;
  }
  double squares = 0;
  double products = 0;
  for (size_t i = first; i < looks.size(); ++i) {
    squares += std::pow(looks[i].minutes - mean_time, 2);
    products += (looks[i].minutes - mean_time) * (looks[i].bytes - mean_bytes);
  }
  if (!(squares > 0)) return std::nullopt;
  Slope slope;
  slope.bytes_per_minute = products / squares;
  double residuals = 0;
  for (size_t i = first; i < looks.size(); ++i) {
    const double on_line = mean_bytes + slope.bytes_per_minute * (looks[i].minutes - mean_time);
    residuals += std::pow(looks[i].bytes - on_line, 2);
  }
  const double free = n - 2;
  const double deviation = std::sqrt(residuals / free / squares);
  const double chance = chance_deviation(looks[first], looks.back());
  const double width = std::max(student_quantile(free) * deviation, kDeviations * chance);
  slope.low = slope.bytes_per_minute - width;
  slope.high = slope.bytes_per_minute + width;
  if (slope.bytes_per_minute > 0) {
    const double t = deviation > 0 ? slope.bytes_per_minute / deviation : 0;
    // Of one side.
    slope.p_value = deviation > 0 ? student_tails(t * t, free) / 2 : 0;
    if (chance > 0) {
      slope.p_value =
          std::max(slope.p_value, std::erfc(slope.bytes_per_minute / chance / std::sqrt(2.0)) / 2);
    }
  }
  return slope;
}

}  // namespace memprof::profile
