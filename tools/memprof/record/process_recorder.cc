// SPDX-License-Identifier: Apache-2.0
#include "memprof/record/process_recorder.h"

#include <algorithm>
#include <chrono>
#include <ctime>
#include <optional>
#include <vector>

#include "memprof/attach/process_watch.h"
#include "memprof/console/console.h"
#include "memprof/io/output_check.h"
#include "memprof/io/path_pattern.h"
#include "memprof/io/process_looks.h"
#include "memprof/record/series_recorder.h"
#include "profile/model/error.h"
#include "profile/text/units.h"

namespace memprof::cli {
namespace {

std::string path_for(const RunningProcess& process, const RecordChoice& choice) {
  PathFacts facts;
  facts.pid = static_cast<int64_t>(process.pid);
  facts.program = process.program;
  facts.time_seconds = std::time(nullptr);
  return expand_path(choice.pattern, facts);
}

// What a process holds; nothing: it is about to end, and has removed its arena.
std::optional<profile::Profile> look_at(ProcessLooks& looks) {
  try {
    return looks.look(false);
  } catch (const profile::Error&) {
    if (looks.is_there()) throw;
    return std::nullopt;
  }
}

}  // namespace

int record_process(const RunningProcess& process, const RecordChoice& choice) {
  using Clock = std::chrono::steady_clock;
  const std::string path = path_for(process, choice);
  check_output_path(path, choice.force);
  SeriesRecorder recorder(path, choice, process.program, process.pid);
  ProcessWatch watch(process);
  ProcessLooks looks(process, choice.ask_servers);
  complain("recording " + process.program + " (pid " + std::to_string(process.pid) + ") to " +
           shell_word(path) + ", a look every " +
           profile::format_duration_ns(static_cast<double>(choice.every_ns)) + ", until it ends or Ctrl-C");
  auto next = Clock::now();
  auto end = ProcessWatch::End::kTime;
  while (end == ProcessWatch::End::kTime) {
    if (const auto profile = look_at(looks)) recorder.add(*profile, {process.pid});
    // One that is late is left out, not made up for.
    next = std::max(next + std::chrono::nanoseconds(choice.every_ns), Clock::now());
    end = watch.wait(std::chrono::duration<double>(next - Clock::now()).count());
  }
  if (end == ProcessWatch::End::kProcessEnded) {
    ProcessLooks last(watch.process(), choice.ask_servers);
    recorder.add(last.look(false), {});
    complain("process " + std::to_string(process.pid) + " has ended");
  } else if (const auto profile = look_at(looks)) {
    recorder.add(*profile, {process.pid});
  }
  complain(recorder.summary());
  return 0;
}

}  // namespace memprof::cli
