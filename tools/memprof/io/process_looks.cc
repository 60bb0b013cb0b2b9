// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/process_looks.h"

#include <unistd.h>

#include <string>
#include <utility>
#include <vector>

#include "memprof/io/arena_profile.h"
#include "profile/pprof/pprof_reader.h"

namespace memprof::cli {

ProcessLooks::ProcessLooks(RunningProcess process, AskServers ask_servers)
    : process_(std::move(process)), ask_servers_(ask_servers) {}

profile::Profile ProcessLooks::look(bool raw) {
  profile::Profile profile = profile::read_pprof(read_arena(process_.arena).pprof, process_.arena);
  add_jit_names(profile, process_.root.empty() ? "" : process_.root + "/tmp");
  profile.pid = process_.pid;  // as we know it: in a container it has another one
  if (raw) return profile;
  // Files of a container are where its root is.
  std::vector<std::string> paths;
  for (profile::Mapping& mapping : profile.mappings) {
    paths.push_back(mapping.path);
    if (!process_.root.empty() && mapping.path[0] == '/') mapping.path = process_.root + mapping.path;
  }
  names_.add(profile);
  add_names(names_, ask_servers_);
  names_.apply(profile);
  for (size_t i = 0; i < paths.size(); ++i) profile.mappings[i].path = paths[i];
  return profile;
}

bool ProcessLooks::is_there() const {
  return access(process_.arena.c_str(), F_OK) == 0 && is_running(process_.pid);
}

}  // namespace memprof::cli
