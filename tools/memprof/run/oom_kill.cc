// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/oom_kill.h"

#include <algorithm>
#include <utility>

#include "memprof/host/process/oom_victims.h"
#include "profile/memory/peak_text.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/report/holder_text.h"

namespace memprof::cli {
namespace {

uint64_t resident_bytes(const ProcessProfile& process) {
  return std::max(process.max_resident_bytes, process.own_max_resident_bytes);
}

// "; handle held 61 % of 480.2 MiB".
std::string holder_of(const std::string& path) try {
  return profile::holder_text(profile::read_pprof_file(path), "held");
} catch (const profile::Error&) {
  return "";
}

}  // namespace

OomWatch::OomWatch(std::string root)
    : group_(ProcessGroup::of_this_process(std::move(root))), before_(group_.kills()) {
  const uint64_t limit = group_.limit_bytes();
  limit_bytes_ = limit == UINT64_MAX ? 0 : limit;
}

void mark_oom_killed(std::vector<RunOutput>* outputs, uint64_t kills, uint64_t limit_bytes, uint64_t started,
                     bool started_was_killed) {
  std::vector<EndedProcess> ended;
  for (size_t i = 0; i < outputs->size(); ++i) {
    const ProcessProfile& process = (*outputs)[i].process;
    const bool may_be = !process.has_ended && !process.still_runs;
    if (may_be && (process.pid != started || started_was_killed)) {
      ended.push_back({i, process.pid, resident_bytes(process)});
    }
  }
  for (const size_t i : oom_victims(std::move(ended), kills)) {
    (*outputs)[i].is_oom_killed = true;
    (*outputs)[i].memory_limit_bytes = limit_bytes;
  }
}

std::string oom_kill_line(const RunOutput& output) {
  return profile::oom_kill_text(output.process.program, output.process.pid, output.memory_limit_bytes) +
         holder_of(output.path);
}

}  // namespace memprof::cli
