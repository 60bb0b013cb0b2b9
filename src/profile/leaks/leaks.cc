// SPDX-License-Identifier: Apache-2.0
#include "profile/leaks/leaks.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "profile/leaks/callers/caller_place.h"
#include "profile/leaks/callers/caller_sums.h"
#include "profile/leaks/place_key.h"
#include "profile/model/error.h"
#include "profile/model/mapped.h"
#include "profile/significance/benjamini_hochberg.h"

namespace memprof::profile {
namespace {

struct Site {
  FrameGroup place;
  std::optional<FrameGroup> caller;
  double caller_bytes = -1;  // live, in the stack of `caller`
  NoteSums notes;            // of live bytes
  SiteLives lives;
  SiteLives load_lives;
  std::vector<uint32_t> callers;  // of the stack that holds most, itself among them
  double callers_bytes = -1;
  double module_load_bytes = 0;  // live, of stacks that load a module
  Accumulator sum;
  std::map<std::string, Look> looks;  // by process; without a time

  // Live, born since the load ended.
  double late_bytes(const LoadTimes& load) const {
    return load.is_known() ? lives.bytes_born_since(static_cast<double>(load.end_ns())) : 0;
  }
};

// What is kept of a profile.
struct Sites {
  std::string name;
  uint64_t time_unix_ns = 0;
  uint64_t duration_ns = 0;
  std::set<std::string> processes;
  std::map<PlaceKey, Site> by_place;
  HeapPlaces heap;
  Accumulator sum;
  double expected_bytes = 0;
  double rate_bytes = 0;
  LoadTimes load;
  double late_bytes = 0;  // of all places
  // Who keeps much since then is not idle: it works, with less garbage than before.
  bool is_idle() const {
    constexpr double kMuch = 0.25;
    return load.is_known() && load.end_ns() < duration_ns &&
           late_bytes <= kMuch * sum.value(Metric::kInuseSpace);
  }
  CallerSums callers;
  double freed_bytes = 0;  // since the start, of all stacks
};

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

void note_caller(const std::optional<FrameGroup>& caller, const Stack& stack, Site* site) {
  const double bytes = caller ? estimated_value(stack, Metric::kInuseSpace) : -1;
  if (bytes <= site->caller_bytes) return;
  site->caller = caller;
  site->caller_bytes = bytes;
}

void note_load(const LoadTimes& load, const Stack& stack, const std::vector<GroupedFrame>& frames,
               const std::vector<bool>& are_loaders, Site* site) {
  if (!site->load_lives.is_by_load()) site->load_lives.count_by(load);
  site->load_lives.add(stack);
  const double bytes = estimated_value(stack, Metric::kInuseSpace);
  if (bytes > site->callers_bytes) {
    site->callers = groups_of(frames);
    site->callers_bytes = bytes;
  }
  if (std::any_of(stack.locations.begin(), stack.locations.end(),
                  [&](uint32_t location) { return are_loaders[location]; })) {
    site->module_load_bytes += bytes;
  }
}

// The line that is told of a function is the one that it begins in.
FrameGroup of_line(FrameGroup place, const GroupedFrame& frame) {
  if (place.line == 0) place.line = frame.line;
  return place;
}

Sites sites_of(const NamedProfile& one, const LeakOptions& options) {
  const Profile& profile = one.profile;
  const std::vector<bool> is_selected = select_stacks(profile, options.filter);
  std::vector<bool> is_expected(profile.stacks.size(), false);
  if (options.expected) {
    StackFilter expected;
    expected.focus = options.expected;
    is_expected = select_stacks(profile, expected);
  }
  FrameGrouping grouping(profile, options.by, options.view);
  std::vector<GroupedFrame> frames;
  const std::vector<bool> are_loaders = module_loaders(profile);
  const bool has_callers = options.by == GroupBy::kFunction || options.by == GroupBy::kLine;
  const std::string only_process = process_label(profile);
  Sites sites;
  sites.name = one.name;
  sites.time_unix_ns = profile.time_unix_ns;
  sites.duration_ns = profile.duration_ns;
  sites.rate_bytes = static_cast<double>(profile.rate_bytes);
  sites.load = profile.load;
  for (size_t i = 0; i < profile.stacks.size(); ++i) {
    const Stack& stack = profile.stacks[i];
    const std::string& process = process_of(stack, only_process);
    sites.processes.insert(process);
    const bool is_of_heap = has_js_values(stack.values);
    sites.freed_bytes += stack.freed.weight_bytes;
    if (sites.load.is_known() && stack.has_statistics && !is_of_heap) {
      grouping.frames_of(stack, &frames);
      sites.callers.add(stack, frames);
    }
    if (!is_selected[i] || !(stack.has_statistics || is_of_heap)) continue;
    if (is_expected[i]) {
      sites.expected_bytes += estimated_value(stack, Metric::kInuseSpace);
      continue;
    }
    grouping.frames_of(stack, &frames);
    const FrameGroup& place = grouping.groups()[frames.front().group];
    if (is_of_heap)
      sites.heap.add(of_line(place, frames.front()), process, stack.values[metric_index(Metric::kJsSpace)]);
    if (is_only_apart(stack)) continue;
    Site& site = sites.by_place[key_of(place)];
    site.place = place;
    if (has_callers) {
      note_caller(executed_caller(profile, grouping, frames), stack, &site);
      site.notes.add(estimated_value(stack, Metric::kInuseSpace), grouping);
    }
    site.lives.run_ns = static_cast<double>(profile.duration_ns);
    site.lives.add(stack);
    if (sites.load.is_known()) note_load(sites.load, stack, frames, are_loaders, &site);
    site.sum.add(stack);
    sites.sum.add(stack);
    add_to_look(stack, &site.looks[process]);
  }
  for (const auto& [key, site] : sites.by_place) sites.late_bytes += site.late_bytes(sites.load);
  return sites;
}

// What the lives of its blocks say, by either clock.
void judge(const Site& site, const Sites& sites, LeakRow* row) {
  constexpr double kMost = 0.5;
  row->assessment = assess(site.lives);
  if (sites.load.is_known()) {
    Assessment by_load = assess(site.load_lives);
    const double live = site.sum.value(Metric::kInuseSpace);
    row->clock = choose_clock(row->assessment, by_load,
                              {sites.callers.min_kept_share(site.callers),
                               site.module_load_bytes > kMost * live || FrameGrouping::is_import(site.place),
                               sites.is_idle(), site.late_bytes(sites.load) > kMost * live});
    if (row->clock == ClockChoice::kDoubt) {
      by_load.verdict = LeakVerdict::kUnknown;
      by_load.p_value = 1;
    }
    if (row->clock != ClockChoice::kTime) row->assessment = by_load;
  }
  row->verdict = row->assessment.verdict;
  if (row->verdict == LeakVerdict::kLeak) row->growth = row->assessment.births.rate;
}

// Where the looks say more than the lives of blocks.
void use_slope(LeakRow* row) {
  if (!row->slope) return;
  const Slope& slope = *row->slope;
  if (row->verdict == LeakVerdict::kLeak && !(slope.high > row->growth.low / 2)) {
    row->verdict = LeakVerdict::kLevel;
    row->corrected_p = 1;
  } else if (row->verdict == LeakVerdict::kUnknown && slope.low > 0 && row->assessment.births.samples > 0 &&
             row->clock != ClockChoice::kDoubt && !may_end(row->assessment)) {
    row->verdict = LeakVerdict::kLeak;
    row->assessment.is_tested = true;
    row->assessment.p_value = slope.p_value;
    row->growth = {slope.bytes_per_minute, slope.low, slope.high};
  }
}

void correct(std::vector<LeakRow>* rows) {
  correct_each(
      rows,
      [](const LeakRow& row) {
        return row.assessment.is_tested ? std::optional(row.assessment.p_value) : std::nullopt;
      },
      [](LeakRow* row, double corrected_p) {
        row->corrected_p = corrected_p;
        drop_chance(corrected_p, &row->verdict);
      });
}

bool comes_first(const LeakRow& a, const LeakRow& b) {
  const bool a_leaks = a.verdict == LeakVerdict::kLeak;
  const bool b_leaks = b.verdict == LeakVerdict::kLeak;
  if (a_leaks != b_leaks) return a_leaks;
  const auto value = [&](const LeakRow& row) {
    return a_leaks ? row.growth.bytes_per_minute : row.live_bytes.value;
  };
  if (value(a) != value(b)) return value(a) > value(b);
  return key_of(a.place) < key_of(b.place);
}

void sum_up(Leaks* leaks) {
  double low = 0;
  double high = 0;
  double largest = 0;
  for (const LeakRow& row : leaks->rows) {
    if (is_untold(row.verdict)) leaks->untold_bytes += row.live_bytes.value;
    if (is_untold(row.verdict) && row.live_bytes.value > largest) {
      largest = row.live_bytes.value;
      leaks->needed_ns = leaks->run_ns * needed_factor(row.verdict, row.assessment);
    }
    ++leaks->numbers[static_cast<size_t>(row.verdict)];
    leaks->tested += row.assessment.is_tested ? 1 : 0;
    if (row.verdict != LeakVerdict::kLeak) continue;
    ++leaks->suspects;
    leaks->growth.bytes_per_minute += row.growth.bytes_per_minute;
    low += std::pow(row.growth.bytes_per_minute - row.growth.low, 2);
    high += std::pow(row.growth.high - row.growth.bytes_per_minute, 2);
  }
  leaks->growth.low = std::max(leaks->growth.bytes_per_minute - std::sqrt(low), 0.0);
  leaks->growth.high = leaks->growth.bytes_per_minute + std::sqrt(high);
}

// When it was taken, against the others.  Of a series the clock of the system says it: its oldest process may end.
uint64_t moment_of(const LeakOptions& options, uint64_t time_unix_ns, uint64_t duration_ns) {
  return options.are_of_a_series ? time_unix_ns : duration_ns;
}

double minutes_between(const Sites& first, const Sites& look, const LeakOptions& options) {
  return static_cast<double>(moment_of(options, look.time_unix_ns, look.duration_ns) -
                             moment_of(options, first.time_unix_ns, first.duration_ns)) /
         kNsPerMinute;
}

struct BusyLook {
  const Sites* look;
  double minutes;  // since the first look, without idle time
};

std::vector<BusyLook> busy_looks_of(const std::vector<Sites>& looks, const LeakOptions& options) {
  std::vector<LookTime> times;
  for (const Sites& look : looks) {
    times.push_back({minutes_between(looks.front(), look, options), look.freed_bytes, look.rate_bytes});
  }
  std::vector<BusyLook> busy;
  for (const auto& [index, minutes] : busy_looks(times)) busy.push_back({&looks[index], minutes});
  return busy;
}

// Processes that are in all looks that a line goes through.
std::set<std::string> lasting_processes(const std::vector<BusyLook>& looks) {
  const size_t first = first_of_line(looks.size());
  std::set<std::string> lasting = looks[first].look->processes;
  for (size_t i = first + 1; i < looks.size(); ++i) {
    const std::set<std::string>& processes = looks[i].look->processes;
    std::set<std::string> both;
    std::set_intersection(lasting.begin(), lasting.end(), processes.begin(), processes.end(),
                          std::inserter(both, both.end()));
    lasting = std::move(both);
  }
  return lasting;
}

// What the place held at each look, in those processes.  Nothing: most of what it holds at last is of others.
std::optional<Slope> slope_at(const PlaceKey& key, const std::vector<BusyLook>& looks,
                              const std::set<std::string>& lasting, const Site& judged) {
  constexpr double kNearlyAll = 0.9;
  std::vector<Look> values;
  for (const auto& [look, minutes] : looks) {
    Look sum;
    sum.minutes = minutes;
    const auto known = look->by_place.find(key);
    if (known != look->by_place.end()) {
      for (const auto& [process, one] : known->second.looks) {
        if (lasting.count(process) == 0) continue;
        sum.bytes += one.bytes;
        sum.samples += one.samples;
        sum.square_bytes += one.square_bytes;
        sum.events += one.events;
      }
    }
    values.push_back(sum);
  }
  if (values.back().bytes < kNearlyAll * judged.sum.value(Metric::kInuseSpace)) return std::nullopt;
  return slope_of(values);
}

HeapLeaks judge_heaps(const std::vector<Sites>& looks, const std::set<std::string>& lasting,
                      const LeakOptions& options) {
  std::vector<const HeapPlaces*> heaps;
  std::vector<double> minutes;
  for (const Sites& look : looks) {
    heaps.push_back(&look.heap);
    minutes.push_back(minutes_between(looks[0], look, options));
  }
  return judge_heap(heaps, minutes, lasting, looks.back().rate_bytes);
}

// Whether a look has a process that is asked for.
bool has_chosen_process(const Sites& look, const LeakOptions& options) {
  return !options.filter.process ||
         std::any_of(look.processes.begin(), look.processes.end(),
                     [&](const std::string& process) { return options.filter.process->is_in(process); });
}

}  // namespace

Leaks find_leaks(std::vector<NamedProfile> profiles, const LeakOptions& options) {
  for (const NamedProfile& one : profiles) check_lives(one.name, one.profile);
  if (!options.are_of_a_series) {
    for (size_t i = 1; i < profiles.size(); ++i) check_process(profiles[0], profiles[i]);
  }
  std::sort(profiles.begin(), profiles.end(), [&](const NamedProfile& a, const NamedProfile& b) {
    return std::make_tuple(moment_of(options, a.profile.time_unix_ns, a.profile.duration_ns), a.name) <
           std::make_tuple(moment_of(options, b.profile.time_unix_ns, b.profile.duration_ns), b.name);
  });
  return find_leaks(profiles.size(), [&](size_t i) { return std::move(profiles[i]); }, options);
}

Leaks find_leaks(size_t count, const std::function<NamedProfile(size_t)>& profile_at,
                 const LeakOptions& options) {
  std::vector<Sites> looks(count);
  LeakOptions alike = options;  // all looks have the wrappers of the last
  for (size_t i = count; i-- > 0;) {
    const NamedProfile one = profile_at(i);
    check_lives(one.name, one.profile);
    if (!alike.view.all && !alike.view.forwarders) alike.view.forwarders = find_forwarders({&one.profile});
    looks[i] = sites_of(one, alike);
    const bool is_last = i + 1 == looks.size();
    if (options.are_of_a_series && is_last && i > 0 && !has_chosen_process(looks[i], options)) {
      looks.pop_back();
    }
  }
  const std::vector<BusyLook> busy = busy_looks_of(looks, options);
  const std::set<std::string> lasting = lasting_processes(busy);
  Leaks leaks;
  leaks.profiles = looks.size();
  leaks.are_looks = options.are_of_a_series;
  leaks.judged = looks.back().name;
  leaks.judged_unix_ns = looks.back().time_unix_ns;
  leaks.run_ns = static_cast<double>(looks.back().duration_ns);
  leaks.load = looks.back().load;
  leaks.is_idle = looks.back().is_idle();
  leaks.has_expected = options.expected.has_value();
  leaks.expected_bytes = looks.back().expected_bytes;
  leaks.live_bytes = looks.back().sum.estimate(Metric::kInuseSpace);
  for (const auto& [key, site] : looks.back().by_place) {
    LeakRow row;
    row.place = site.place;
    row.caller = site.caller;
    judge(site, looks.back(), &row);
    row.live_bytes = site.sum.estimate(Metric::kInuseSpace);
    row.notes = site.notes.notes(row.live_bytes.value);
    row.live_blocks = site.sum.value(Metric::kInuseObjects);
    if (!(row.live_bytes.value > 0)) continue;  // all was freed
    row.slope = slope_at(key, busy, lasting, site);
    leaks.rows.push_back(std::move(row));
  }
  // What births say is corrected for the number of places first, and with the slopes of those that they leave open
  // again.
  correct(&leaks.rows);
  for (LeakRow& row : leaks.rows) use_slope(&row);
  correct(&leaks.rows);
  std::sort(leaks.rows.begin(), leaks.rows.end(), comes_first);
  sum_up(&leaks);
  leaks.heap = judge_heaps(looks, lasting, options);
  return leaks;
}

}  // namespace memprof::profile
