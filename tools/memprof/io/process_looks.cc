// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/process_looks.h"

#include <string>
#include <utility>
#include <vector>

#include "profile/model/error.h"
#include "profile/model/metric.h"
#include "profile/pprof/pprof_reader.h"

namespace memprof::cli {
namespace {

// How long a process ran before its arena was made; 0: it was made at its start, or the clocks do not tell.
uint64_t time_before(uint64_t process_start_ns, uint64_t arena_start_ns) {
  constexpr uint64_t kStartNs = 1'000'000'000;  // a large program takes so long to load
  if (process_start_ns == 0 || arena_start_ns < process_start_ns + kStartNs) return 0;
  return arena_start_ns - process_start_ns;
}

}  // namespace

ProcessLooks::ProcessLooks(RunningProcess process, AskServers ask_servers,
                           std::shared_ptr<profile::SharedNames> names)
    : process_(std::move(process)),
      kept_(process_.arena),
      ask_servers_(ask_servers),
      names_(std::move(names)) {
  resident_.pid = process_.pid;
}

profile::Profile ProcessLooks::look(bool raw) {
  return look_at(process_.arena, reads_resident_ ? &resident_ : nullptr, raw);
}

profile::Profile ProcessLooks::look_at_end() {
  return look_at(kept_.copy(), nullptr, false);
}

profile::Profile ProcessLooks::look_at(const std::string& path, ResidentReads* resident, bool raw) {
  const ArenaContent arena = read_arena(path, resident);
  profile::Profile profile = profile::read_pprof(arena.pprof.view(), process_.arena);
  if (resident_.is_always && !profile.has_metric[profile::metric_index(profile::Metric::kResidentSpace)]) {
    throw profile::Error("process " + std::to_string(process_.pid) +
                         ": what of its blocks is in memory cannot be read; it takes the same user, or root");
  }
  profile.seen_after_ns = time_before(process_.start_ns, arena.start_ns);
  add_jit_names(profile, process_.root.empty() ? "" : process_.root + "/tmp");
  profile.pid = process_.pid;  // as we know it: in a container it has another one
  if (!raw) name(&profile);
  return profile;
}

void ProcessLooks::name(profile::Profile* named) {
  profile::Profile& profile = *named;
  // Files of a container are where its root is.
  std::vector<std::string> paths;
  for (profile::Mapping& mapping : profile.mappings) {
    paths.push_back(mapping.path);
    if (!process_.root.empty() && mapping.path[0] == '/') mapping.path = process_.root + mapping.path;
  }
  names_->add(profile);
  add_names(*names_, ask_servers_);
  names_->apply(profile);
  for (size_t i = 0; i < paths.size(); ++i) profile.mappings[i].path = paths[i];
}

bool ProcessLooks::is_there() const {
  return !is_missing(process_.arena) && is_running(process_.pid);
}

}  // namespace memprof::cli
