// SPDX-License-Identifier: Apache-2.0
#include "format/load/load_clock.h"

namespace memprof {
namespace {

// Fewer steps tell nothing of sixteenths.
constexpr uint32_t kFewestMarks = 24;
constexpr double kFewestSamples = 32;   // of load
constexpr double kMinShare = 0.1;       // of all bytes, of load
constexpr double kIdle = 6;             // times as long as a busy step
constexpr double kMaxIdleShare = 0.08;  // two steps of the fewest that there are
// An end of the run that is shorter than this part of it is no idle time.
constexpr double kMinIdleTime = 1.0 / 32;

}  // namespace

uint32_t LoadTimes::part_of(uint64_t birth_ns) const {
  uint32_t part = 0;
  while (part + 1 < kBirthParts && at_ns[part + 1] <= birth_ns) {
    ++part;
  }
  return part;
}

bool LoadTimes::differs_from_time(uint64_t run_ns) const {
  for (uint32_t part = 0; part <= kBirthParts; ++part) {
    const uint64_t even_ns = run_ns / kBirthParts * part;
    const uint64_t off_ns = at_ns[part] > even_ns ? at_ns[part] - even_ns : even_ns - at_ns[part];
    if (off_ns > run_ns / (2 * kBirthParts)) {
      return true;
    }
  }
  return false;
}

double LoadClock::begin_of(uint32_t step) const {
  if (step == 0) {
    return 0;
  }
  const auto end = static_cast<double>(marks_.end_ns);
  const double at = step > marks_.count ? end : static_cast<double>(marks_.at_ns[step - 1]);
  return at < end ? at : end;
}

double LoadClock::bytes_of(uint32_t step) const {
  if (step < marks_.count) {
    return static_cast<double>(marks_.step_bytes);
  }
  const uint64_t marked = marks_.count * marks_.step_bytes;
  return marks_.bytes > marked ? static_cast<double>(marks_.bytes - marked) : 0;
}

uint32_t LoadClock::step_of(uint64_t time_ns) const {
  const auto time = static_cast<double>(time_ns);
  uint32_t step = 0;
  while (step < marks_.count && begin_of(step + 1) <= time) {
    ++step;
  }
  return step;
}

void LoadClock::add_live(uint64_t birth_ns, double weight_bytes) {
  live_bytes_[step_of(birth_ns)] += weight_bytes;
}

// The median of how long the marked steps took.
double LoadClock::busy_step_ns() const {
  double took[kLoadMarks];
  for (uint32_t i = 0; i < marks_.count; ++i) {
    const double own = begin_of(i + 1) - begin_of(i);
    uint32_t at = i;
    for (; at > 0 && took[at - 1] > own; --at) {
      took[at] = took[at - 1];
    }
    took[at] = own;
  }
  return took[marks_.count / 2];
}

double LoadClock::end_of_load() const {
  const auto run = static_cast<double>(marks_.end_ns);
  const double busy = busy_step_ns();
  double end = run;
  double idle_bytes = 0;
  for (uint32_t step = marks_.count + 1; step-- > 0;) {
    idle_bytes += bytes_of(step);
    if (begin_of(step + 1) - begin_of(step) <= kIdle * busy ||
        idle_bytes > kMaxIdleShare * static_cast<double>(marks_.bytes)) {
      break;
    }
    // The first of its bytes were allocated as before.
    const double begins = begin_of(step) + busy;
    end = begins < end ? begins : end;
  }
  return run - end > kMinIdleTime * run ? end : run;
}

LoadTimes LoadClock::times() const {
  LoadTimes times;
  if (marks_.step_bytes == 0 || marks_.count < kFewestMarks || marks_.count > kLoadMarks) {
    return times;
  }
  const double end = end_of_load();
  double load[kLoadMarks + 1];
  double all = 0;
  for (uint32_t step = 0; step < steps(); ++step) {
    double own = begin_of(step) < end ? bytes_of(step) - live_bytes_[step] : 0;
    // Of a whole step in which idle time begins, nobody knows how much came before that.
    if (step < marks_.count && begin_of(step + 1) > end) {
      own /= 2;
    }
    load[step] = own > 0 ? own : 0;
    all += load[step];
  }
  if (all < kMinShare * static_cast<double>(marks_.bytes) ||
      all < kFewestSamples * static_cast<double>(marks_.rate_bytes)) {
    return times;
  }
  uint32_t part = 1;
  double before = 0;
  for (uint32_t step = 0; step < steps() && part < kBirthParts; ++step) {
    const double begin = begin_of(step);
    const double until = begin_of(step + 1) < end ? begin_of(step + 1) : end;
    while (part < kBirthParts && load[step] > 0 && before + load[step] >= all * part / kBirthParts) {
      const double share = (all * part / kBirthParts - before) / load[step];
      times.at_ns[part++] = static_cast<uint64_t>(begin + share * (until - begin));
    }
    before += load[step];
  }
  for (; part < kBirthParts; ++part) {  // by rounding
    times.at_ns[part] = static_cast<uint64_t>(end);
  }
  times.at_ns[kBirthParts] = static_cast<uint64_t>(end);
  times.bytes = static_cast<uint64_t>(all);
  return times;
}

}  // namespace memprof
