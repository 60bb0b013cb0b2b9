// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/leaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "profile/model/benjamini_hochberg.h"
#include "profile/model/error.h"

namespace memprof::profile {
namespace {

constexpr double kSignificant = 0.05;
constexpr double kNsPerMinute = 60e9;

using PlaceKey = std::tuple<std::string, std::string, int64_t, std::string>;

PlaceKey key_of(const FrameGroup& place) {
  return {place.name, place.file, place.line, place.module};
}

struct Site {
  FrameGroup place;
  SiteLives lives;
  Accumulator sum;
};

struct Sites {
  std::map<PlaceKey, Site> by_place;
  Accumulator sum;
  double expected_bytes = 0;
};

void check(const NamedProfile& one) {
  const Profile& profile = one.profile;
  bool has_statistics = profile.stacks.empty();
  bool has_live = false;
  bool has_births = false;
  for (const Stack& stack : profile.stacks) {
    has_statistics = has_statistics || stack.has_statistics;
    has_live = has_live || !stack.live.empty();
    has_births = has_births || !stack.births.empty();
  }
  if (!profile.from_memprof || !has_statistics) {
    throw Error(one.name + (profile.from_memprof
                                ? ": does not say how long blocks live: another program altered it"
                                : ": does not say how long blocks live: memprof did not write it"));
  }
  if (has_live && !has_births) {
    throw Error(
        one.name +
        ": does not say when what lives was allocated: an older memprof wrote it, or is in the process");
  }
  if (profile.duration_ns == 0) {
    throw Error(one.name + ": does not say how long the program ran");
  }
}

// Both with a clock that can be set.
uint64_t start_of(const Profile& profile) {
  return profile.time_unix_ns - std::min(profile.duration_ns, profile.time_unix_ns);
}

void check_process(const NamedProfile& a, const NamedProfile& b) {
  constexpr uint64_t kNear = 5'000'000'000;
  const uint64_t starts[] = {start_of(a.profile), start_of(b.profile)};
  const bool near = std::max(starts[0], starts[1]) - std::min(starts[0], starts[1]) < kNear;
  if (a.profile.pid == b.profile.pid && a.profile.program == b.profile.program && near) return;
  throw Error(
      fmt::format("{} and {}: not of one process ({} pid {}, {} pid {}); give several profiles of one "
                  "process, or one file",
                  a.name, b.name, a.profile.program, a.profile.pid, b.profile.program, b.profile.pid));
}

Sites sites_of(const Profile& profile, const LeakOptions& options) {
  const std::vector<bool> is_selected = select_stacks(profile, options.filter);
  std::vector<bool> is_expected(profile.stacks.size(), false);
  if (options.expected) {
    StackFilter expected;
    expected.focus = options.expected;
    is_expected = select_stacks(profile, expected);
  }
  FrameGrouping grouping(profile, options.by, options.view);
  std::vector<GroupedFrame> frames;
  Sites sites;
  for (size_t i = 0; i < profile.stacks.size(); ++i) {
    const Stack& stack = profile.stacks[i];
    if (!is_selected[i] || !stack.has_statistics) continue;
    if (is_expected[i]) {
      sites.expected_bytes += estimated_value(stack, Metric::kInuseSpace);
      continue;
    }
    grouping.frames_of(stack, &frames);
    const FrameGroup& place = grouping.groups()[frames.front().group];
    Site& site = sites.by_place[key_of(place)];
    site.place = place;
    site.lives.run_ns = static_cast<double>(profile.duration_ns);
    site.lives.add(stack);
    site.sum.add(stack);
    sites.sum.add(stack);
  }
  return sites;
}

// Where the looks say more than the lives of blocks.
void use_slope(LeakRow* row) {
  if (!row->slope) return;
  const Slope& slope = *row->slope;
  if (row->verdict == LeakVerdict::kLeak && !(slope.high > row->growth.low / 2)) {
    row->verdict = LeakVerdict::kLevel;
    row->corrected_p = 1;
  } else if (row->verdict == LeakVerdict::kUnknown && slope.low > 0 && row->assessment.births.samples > 0) {
    row->verdict = LeakVerdict::kLeak;
    row->assessment.is_tested = true;
    row->assessment.p_value = slope.p_value;
    row->growth = {slope.bytes_per_minute, slope.low, slope.high};
  }
}

void correct(std::vector<LeakRow>* rows) {
  std::vector<double> p_values;
  for (const LeakRow& row : *rows) {
    if (row.assessment.is_tested) p_values.push_back(row.assessment.p_value);
  }
  const std::vector<double> corrected = benjamini_hochberg(p_values);
  size_t next = 0;
  for (LeakRow& row : *rows) {
    if (!row.assessment.is_tested) continue;
    row.corrected_p = corrected[next++];
    if (row.verdict == LeakVerdict::kLeak && row.corrected_p > kSignificant) {
      row.verdict = LeakVerdict::kUnknown;
    }
  }
}

bool comes_first(const LeakRow& a, const LeakRow& b) {
  const bool a_leaks = a.verdict == LeakVerdict::kLeak;
  const bool b_leaks = b.verdict == LeakVerdict::kLeak;
  if (a_leaks != b_leaks) return a_leaks;
  const double a_value = a_leaks ? a.growth.bytes_per_minute : a.live_bytes.value;
  const double b_value = b_leaks ? b.growth.bytes_per_minute : b.live_bytes.value;
  if (a_value != b_value) return a_value > b_value;
  return key_of(a.place) < key_of(b.place);
}

double square(double x) {
  return x * x;
}

void sum_up(Leaks* leaks) {
  double low = 0;
  double high = 0;
  for (const LeakRow& row : leaks->rows) {
    ++leaks->numbers[static_cast<size_t>(row.verdict)];
    leaks->tested += row.assessment.is_tested ? 1 : 0;
    if (row.verdict != LeakVerdict::kLeak) continue;
    ++leaks->suspects;
    leaks->growth.bytes_per_minute += row.growth.bytes_per_minute;
    low += square(row.growth.bytes_per_minute - row.growth.low);
    high += square(row.growth.high - row.growth.bytes_per_minute);
  }
  leaks->growth.low = std::max(leaks->growth.bytes_per_minute - std::sqrt(low), 0.0);
  leaks->growth.high = leaks->growth.bytes_per_minute + std::sqrt(high);
}

}  // namespace

Leaks find_leaks(std::vector<NamedProfile> profiles, const LeakOptions& options) {
  for (const NamedProfile& one : profiles) check(one);
  for (size_t i = 1; i < profiles.size(); ++i) check_process(profiles[0], profiles[i]);
  std::sort(profiles.begin(), profiles.end(), [](const NamedProfile& a, const NamedProfile& b) {
    return std::tie(a.profile.duration_ns, a.name) < std::tie(b.profile.duration_ns, b.name);
  });
  std::vector<Sites> looks;
  looks.reserve(profiles.size());
  for (const NamedProfile& one : profiles) looks.push_back(sites_of(one.profile, options));

  Leaks leaks;
  leaks.profiles = profiles.size();
  leaks.run_ns = static_cast<double>(profiles.back().profile.duration_ns);
  leaks.has_expected = options.expected.has_value();
  leaks.expected_bytes = looks.back().expected_bytes;
  leaks.live_bytes = looks.back().sum.estimate(Metric::kInuseSpace);
  for (const auto& [key, site] : looks.back().by_place) {
    LeakRow row;
    row.place = site.place;
    row.assessment = assess(site.lives);
    row.verdict = row.assessment.verdict;
    if (row.verdict == LeakVerdict::kLeak) row.growth = row.assessment.births.rate;
    row.live_bytes = site.sum.estimate(Metric::kInuseSpace);
    row.live_blocks = site.sum.value(Metric::kInuseObjects);
    if (!(row.live_bytes.value > 0)) continue;  // all was freed
    std::vector<Look> values;
    for (size_t i = 0; i < looks.size(); ++i) {
      const auto known = looks[i].by_place.find(key);
      values.push_back({static_cast<double>(profiles[i].profile.duration_ns) / kNsPerMinute,
                        known == looks[i].by_place.end() ? 0 : known->second.sum.value(Metric::kInuseSpace)});
    }
    row.slope = slope_of(values);
    leaks.rows.push_back(std::move(row));
  }
  // What births say is corrected for the number of places first, and with the slopes of those that they leave open
  // again.
  correct(&leaks.rows);
  for (LeakRow& row : leaks.rows) use_slope(&row);
  correct(&leaks.rows);
  std::sort(leaks.rows.begin(), leaks.rows.end(), comes_first);
  sum_up(&leaks);
  return leaks;
}

}  // namespace memprof::profile
