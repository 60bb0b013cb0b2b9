// SPDX-License-Identifier: Apache-2.0
#include "memprof/record/run_looks.h"

#include "memprof/host/process/arena_files.h"
#include "memprof/io/profile_input.h"
#include "profile/model/error.h"
#include "profile/pprof/pprof_reader.h"

namespace memprof::cli {

RunLook look_at_run(const std::string& arenas, uint64_t run_token,
                    std::map<uint64_t, ResidentReads>* resident) {
  RunLook look;
  for (const ArenaFile& file : find_arenas(arenas)) {
    if (owner_of(file) != Owner::kLives) continue;
    const ArenaBeginning beginning = read_beginning(file.path);
    if (!beginning.is_begun || beginning.run_token != run_token) continue;
    try {
      ResidentReads* reads = nullptr;
      if (resident != nullptr) {
        reads = &(*resident)[file.pid];
        reads->pid = file.pid;
      }
      look.profiles.push_back(profile::read_pprof(read_arena(file.path, reads).pprof.view(), file.path));
    } catch (const profile::Error&) {
      continue;  // it has ended meanwhile
    }
    look.pids.push_back(file.pid);
    add_jit_names(look.profiles.back());
  }
  return look;
}

}  // namespace memprof::cli
