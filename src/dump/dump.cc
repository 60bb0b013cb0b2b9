// SPDX-License-Identifier: Apache-2.0
// Dumps: the process writes profiles of itself while it runs.
//   MEMPROF_DUMP_SIGNAL    a dump at each of these signals (USR2, ...)
//   MEMPROF_DUMP_INTERVAL  a dump after each interval (30, 30s, 5m, 1h)
//   MEMPROF_DUMP_PATH      the file: a pattern like MEMPROF_PROFILE, which is its default; the number of the dump
//                          comes before its end: out.1234.1.pb, out.1234.2.pb
//
// Model: there is no thread and no timer for this: when an interval is over, the thread that takes the next sample
// writes the dump.  A process that does not allocate writes none.
//
// A program may install its own handler later, or give the signal back to the system, which then ends the
// process: dump.cc checks for that from time to time and reports it once.
//
// Signals: dump() is called by a signal handler and from inside malloc.  One dump at a time: a request during a
// dump is dropped.
#include <atomic>
#include <cstring>

#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "core/sampling/sampler.h"
#include "dump/dump.h"
#include "dump/run_tally.h"
#include "format/path_pattern.h"
#include "format/pprof/pprof_name.h"
#include "memprof.h"
#include "platform/clock.h"
#include "platform/messages.h"
#include "platform/process.h"

namespace memprof {
namespace {

constexpr uint64_t kNsPerSecond = 1000000000;
constexpr char kDefaultPath[] = "memprof.%n.%p.pb";

char g_pattern[4096];
char g_numbered[4096 + 32];  // path of the dump that is being written; too large for small stacks
// When the next dump and check are due; UINT64_MAX: never.  Only the call of profiler::call_at uses them.
uint64_t g_interval_ns = 0;
uint64_t g_next_dump_ns = UINT64_MAX;
uint64_t g_next_check_ns = UINT64_MAX;
uint64_t g_check_pause_ns = kNsPerSecond;
char g_signal[32];  // as configured; "": none, or its loss was reported
std::atomic<bool> g_is_dumping{false};
std::atomic<uint64_t> g_number{0};

// "out.pb" -> "out.7.pb"
void number_path(uint64_t number) {
  const size_t length = strlen(g_pattern);
  const size_t suffix = strlen(profile::pprof_end_of(g_pattern)->text);
  char* at = g_numbered;
  memcpy(at, g_pattern, length - suffix);
  at += length - suffix;
  *at++ = '.';
  at += format_decimal(number, at);
  memcpy(at, g_pattern + length - suffix, suffix + 1);
}

void dump() {
  if (g_pattern[0] == '\0' || !profiler::is_owner() ||
      g_is_dumping.exchange(true, std::memory_order_acquire)) {
    return;
  }
  const MuteScope mute;
  int error = MEMPROF_ERR_EXISTS;
  // Skips numbers whose files exist: an earlier process had this process id.
  for (int tries = 0; tries < 1000 && error == MEMPROF_ERR_EXISTS; ++tries) {
    number_path(g_number.fetch_add(1, std::memory_order_relaxed) + 1);
    error = write_profile_file(g_numbered, false, nullptr, 0);
  }
  if (error != MEMPROF_OK) {
    const char* const parts[] = {"a profile was not written to ", g_numbered, ": ", reason_text(error),
                                 nullptr};
    platform::message(parts);
  }
  g_is_dumping.store(false, std::memory_order_release);
}

// Returns 0 unless the text is a duration from a second to a year.
uint64_t parse_seconds(const char* text) {
  constexpr uint64_t kYear = 366 * 86400;
  uint64_t seconds = 0;
  const char* at = text;
  for (; *at >= '0' && *at <= '9' && seconds <= kYear; ++at) {
    seconds = seconds * 10 + static_cast<uint64_t>(*at - '0');
  }
  if (*at == 'm') {
    seconds *= 60;
  } else if (*at == 'h') {
    seconds *= 3600;
  }
  if (*at == 's' || *at == 'm' || *at == 'h') {
    ++at;
  }
  return *at == '\0' && seconds <= kYear ? seconds : 0;
}

void check_signal() {
  const platform::SignalUse use = platform::signal_use();
  if (g_signal[0] == '\0' || use == platform::SignalUse::kOurs) {
    return;
  }
  const char* now = use == platform::SignalUse::kDefault
                        ? "the program has given this signal back to the system: it ends this process"
                    : use == platform::SignalUse::kIgnored
                        ? "the program ignores this signal now: it writes no profile"
                        : "the program has taken this signal for itself: it writes no profile";
  // Also as SIGRTMIN+3.
  constexpr char kAdvised[] = "RTMIN+3";
  const size_t length = strlen(g_signal);
  const bool is_other =
      length < strlen(kAdvised) || strcmp(g_signal + length - strlen(kAdvised), kAdvised) != 0;
  const char* const parts[] = {"MEMPROF_DUMP_SIGNAL=",
                               g_signal,
                               ": ",
                               now,
                               "; choose one that the program leaves alone, like ",
                               is_other ? kAdvised : "RTMIN+7",
                               ", or use `memprof live PID -o FILE`, which needs none",
                               nullptr};
  platform::message(parts);
  g_signal[0] = '\0';
}

void call_next() {
  const uint64_t next = g_next_dump_ns < g_next_check_ns ? g_next_dump_ns : g_next_check_ns;
  if (next != UINT64_MAX) {
    profiler::call_at(next);
  }
}

}  // namespace

void start_dumps(const Configuration& configuration) {
  const char* path = platform::environment("MEMPROF_DUMP_PATH");
  if (path == nullptr || *path == '\0') {
    path = configuration.keep_arena ? kDefaultPath : configuration.profile_path;
  }
  if (strlen(path) >= sizeof(g_pattern) || !expand_path(path, 1, "", 1, g_numbered, sizeof(g_numbered))) {
    return complain_of_variable("MEMPROF_DUMP_PATH", path, kWantedPattern);
  }
  if (profile::pprof_end_of(path) == nullptr) {
    return complain_of_variable("MEMPROF_DUMP_PATH", path, kWantedEnd);
  }
  memcpy(g_pattern, path, strlen(path) + 1);
  const char* signal = platform::environment("MEMPROF_DUMP_SIGNAL");
  if (signal != nullptr && *signal != '\0') {
    if (!platform::on_signal(signal, dump)) {
      complain_of_variable("MEMPROF_DUMP_SIGNAL", signal, "a signal that can be caught, like USR2");
    } else if (strlen(signal) < sizeof(g_signal)) {
      memcpy(g_signal, signal, strlen(signal) + 1);
      g_next_check_ns = platform::monotonic_ns() + g_check_pause_ns;
    }
  }
  const char* interval = platform::environment("MEMPROF_DUMP_INTERVAL");
  if (interval != nullptr && *interval != '\0') {
    g_interval_ns = parse_seconds(interval) * kNsPerSecond;
    if (g_interval_ns == 0) {
      complain_of_variable("MEMPROF_DUMP_INTERVAL", interval, "a time like 30s, 5m or 1h");
    } else {
      g_next_dump_ns = platform::monotonic_ns() + g_interval_ns;
    }
  }
  call_next();
}

void end_dumps() {
  check_signal();
}

void reset_dumps_in_child() {
  g_is_dumping.store(false, std::memory_order_release);
  count_fork_child();
}

void stop_dumps() {
  g_pattern[0] = '\0';
}

void on_time(uint64_t now_ns) {
  constexpr uint64_t kLongestPauseNs = 60 * kNsPerSecond;
  const bool is_dump = now_ns >= g_next_dump_ns;
  if (is_dump) {
    g_next_dump_ns = now_ns + g_interval_ns;
  }
  if (now_ns >= g_next_check_ns) {
    check_signal();
    g_check_pause_ns = g_check_pause_ns * 4 < kLongestPauseNs ? g_check_pause_ns * 4 : kLongestPauseNs;
    g_next_check_ns = g_signal[0] != '\0' ? now_ns + g_check_pause_ns : UINT64_MAX;
  }
  call_next();
  if (is_dump) {
    dump();
  }
}

}  // namespace memprof
