// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/leaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
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
  Look look;  // of the processes that its line is of; without a time
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

const std::string& process_of(const Stack& stack, const std::string& only_process) {
  return stack.process.empty() ? only_process : stack.process;
}

// Processes that are in all of some profiles, the first `from` left out.
std::set<std::string> lasting_processes(const std::vector<NamedProfile>& profiles, size_t from) {
  std::set<std::string> lasting;
  for (size_t i = from; i < profiles.size(); ++i) {
    const Profile& profile = profiles[i].profile;
    const std::string only_process = process_label(profile);
    std::set<std::string> here;
    for (const Stack& stack : profile.stacks) {
      const std::string& process = process_of(stack, only_process);
      if (i == from || lasting.count(process) != 0) here.insert(process);
    }
    lasting = std::move(here);
  }
  return lasting;
}

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

Sites sites_of(const Profile& profile, const LeakOptions& options, const std::set<std::string>& lasting) {
  const std::vector<bool> is_selected = select_stacks(profile, options.filter);
  std::vector<bool> is_expected(profile.stacks.size(), false);
  if (options.expected) {
    StackFilter expected;
    expected.focus = options.expected;
    is_expected = select_stacks(profile, expected);
  }
  FrameGrouping grouping(profile, options.by, options.view);
  std::vector<GroupedFrame> frames;
  const std::string only_process = process_label(profile);
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
    if (lasting.count(process_of(stack, only_process)) != 0) add_to_look(stack, &site.look);
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
  } else if (row->verdict == LeakVerdict::kUnknown && slope.low > 0 && row->assessment.births.samples > 0 &&
             !may_end(row->assessment)) {
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

// When it was taken, against the others.  Of a series the clock of the system says it: its oldest process may end.
uint64_t moment_of(const Profile& profile, const LeakOptions& options) {
  return options.are_of_a_series ? profile.time_unix_ns : profile.duration_ns;
}

// What the place held at each look, in the processes that were there at all that a line goes through.  Nothing: most
// of what it holds at last is of others.
std::optional<Slope> slope_at(const PlaceKey& key, const std::vector<Sites>& looks,
                              const std::vector<double>& minutes) {
  constexpr double kMost = 0.9;
  std::vector<Look> values;
  for (size_t i = 0; i < looks.size(); ++i) {
    const auto known = looks[i].by_place.find(key);
    values.push_back(known == looks[i].by_place.end() ? Look() : known->second.look);
    values.back().minutes = minutes[i];
  }
  const Site& last = looks.back().by_place.at(key);
  if (values.back().bytes < kMost * last.sum.value(Metric::kInuseSpace)) return std::nullopt;
  return slope_of(values);
}

// Of a series the last ones that have nothing of what is asked are left out: a process that had ended by then.
void drop_without_selected(const LeakOptions& options, std::vector<NamedProfile>* profiles) {
  if (!options.filter.process) return;
  StackFilter of_process;
  of_process.process = options.filter.process;
  while (profiles->size() > 1) {
    const std::vector<bool> selected = select_stacks(profiles->back().profile, of_process);
    if (std::find(selected.begin(), selected.end(), true) != selected.end()) return;
    profiles->pop_back();
  }
}

}  // namespace

Leaks find_leaks(std::vector<NamedProfile> profiles, const LeakOptions& options) {
  for (const NamedProfile& one : profiles) check(one);
  if (!options.are_of_a_series) {
    for (size_t i = 1; i < profiles.size(); ++i) check_process(profiles[0], profiles[i]);
  }
  std::sort(profiles.begin(), profiles.end(), [&](const NamedProfile& a, const NamedProfile& b) {
    return std::make_tuple(moment_of(a.profile, options), a.name) <
           std::make_tuple(moment_of(b.profile, options), b.name);
  });
  if (options.are_of_a_series) drop_without_selected(options, &profiles);
  const std::set<std::string> lasting = lasting_processes(profiles, first_of_line(profiles.size()));
  std::vector<Sites> looks;
  std::vector<double> minutes;
  looks.reserve(profiles.size());
  const uint64_t first_moment = moment_of(profiles.front().profile, options);
  for (const NamedProfile& one : profiles) {
    looks.push_back(sites_of(one.profile, options, lasting));
    minutes.push_back(static_cast<double>(moment_of(one.profile, options) - first_moment) / kNsPerMinute);
  }

  Leaks leaks;
  leaks.profiles = profiles.size();
  leaks.are_looks = options.are_of_a_series;
  leaks.judged = profiles.back().name;
  leaks.judged_unix_ns = profiles.back().profile.time_unix_ns;
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
    row.slope = slope_at(key, looks, minutes);
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
