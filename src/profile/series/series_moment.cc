// SPDX-License-Identifier: Apache-2.0
#include "profile/series/series_moment.h"

#include <fmt/format.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>

#include "profile/model/error.h"
#include "profile/text/units.h"

namespace memprof::profile {
namespace {

constexpr int64_t kNsPerSecond = 1'000'000'000;
constexpr int64_t kMinTolerance = 60 * kNsPerSecond;  // a time without seconds means that minute

int64_t time_of(const SeriesLook& look) {
  return static_cast<int64_t>(look.time_unix_ns);
}

// A time of day, or a date and one.
struct Clock {
  std::optional<std::array<int, 3>> date;  // year, month, day
  int hour = 0, minute = 0, second = 0;
};

std::optional<Clock> parse_clock(const std::string& text) {
  Clock clock;
  int used = 0;
  const char* rest = text.c_str();
  std::array<int, 3> date{};
  if (std::sscanf(rest, "%4d-%2d-%2d%n", &date[0], &date[1], &date[2], &used) == 3 && used == 10) {
    rest += used;
    if (*rest != 'T' && *rest != ' ') return std::nullopt;
    ++rest;
    clock.date = date;
  }
  used = 0;
  if (std::sscanf(rest, "%2d:%2d%n", &clock.hour, &clock.minute, &used) != 2 || used == 0)
    return std::nullopt;
  rest += used;
  used = 0;
  if (*rest == ':' && std::sscanf(rest, ":%2d%n", &clock.second, &used) == 1) rest += used;
  const auto within = [](int number, int limit) { return number >= 0 && number < limit; };
  if (*rest != '\0' || !within(clock.hour, 24) || !within(clock.minute, 60) || !within(clock.second, 60)) {
    return std::nullopt;
  }
  if (clock.date && (!within(date[1] - 1, 12) || !within(date[2] - 1, 31))) return std::nullopt;
  return clock;
}

// On that day, or on the day of `day_ns`, some days before it.
int64_t unix_ns_of(const Clock& clock, int64_t day_ns, int days_before) {
  tm parts{};
  if (clock.date) {
    parts.tm_year = (*clock.date)[0] - 1900;
    parts.tm_mon = (*clock.date)[1] - 1;
    parts.tm_mday = (*clock.date)[2];
  } else {
    const auto seconds = static_cast<time_t>(day_ns / kNsPerSecond);
    localtime_r(&seconds, &parts);
    parts.tm_mday -= days_before;
  }
  parts.tm_hour = clock.hour;
  parts.tm_min = clock.minute;
  parts.tm_sec = clock.second;
  parts.tm_isdst = -1;
  return static_cast<int64_t>(std::mktime(&parts)) * kNsPerSecond;
}

const SeriesLook& nearest(const Series& series, int64_t moment_ns) {
  const auto distance = [moment_ns](const SeriesLook& look) {
    return time_of(look) > moment_ns ? time_of(look) - moment_ns : moment_ns - time_of(look);
  };
  return *std::min_element(
      series.looks.begin(), series.looks.end(),
      [&](const SeriesLook& a, const SeriesLook& b) { return distance(a) < distance(b); });
}

}  // namespace

const SeriesLook& look_at(const Series& series, const std::string& moment, const std::string& path) {
  const std::vector<SeriesLook>& looks = series.looks;
  if (looks.empty()) throw Error(path + ": a series without a look");
  if (moment == "first") return looks.front();
  if (moment == "last") return looks.back();
  if (moment == "peak") {
    return *std::max_element(looks.begin(), looks.end(), [](const SeriesLook& a, const SeriesLook& b) {
      return live_bytes_of(a) < live_bytes_of(b);
    });
  }
  const int64_t first_ns = time_of(looks.front());
  const int64_t last_ns = time_of(looks.back());
  const int64_t tolerance = std::max(kMinTolerance, static_cast<int64_t>(series.every_ns));
  const auto is_within = [&](int64_t ns) { return ns >= first_ns - tolerance && ns <= last_ns + tolerance; };
  std::optional<int64_t> wanted;
  if (!moment.empty() && (moment[0] == '+' || moment[0] == '-')) {
    if (const auto distance = parse_duration_ns(moment.substr(1))) {
      const auto ns = static_cast<int64_t>(*distance);
      wanted = moment[0] == '+' ? first_ns + ns : last_ns - ns;
    }
  } else if (const auto clock = parse_clock(moment)) {
    wanted = unix_ns_of(*clock, last_ns, 0);
    if (!clock->date && !is_within(*wanted)) wanted = unix_ns_of(*clock, last_ns, 1);
  }
  if (!wanted) {
    throw Error(
        fmt::format("{}: '{}' is no moment of a series: give first, last, peak, 14:05, "
                    "2026-05-01T14:05, +10m (after the first look) or -10m (before the last)",
                    path, moment));
  }
  if (!is_within(*wanted)) {
    throw Error(fmt::format("{}: has looks from {} to {}; '{}' is not among them", path,
                            time_text(looks.front().time_unix_ns), time_text(looks.back().time_unix_ns),
                            moment));
  }
  return nearest(series, *wanted);
}

}  // namespace memprof::profile
