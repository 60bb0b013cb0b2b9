// SPDX-License-Identifier: Apache-2.0
// What the processes of a run that live hold, from outside.
//
// Threads: no state.
// Failure: a process that ends meanwhile, or cannot be read, is left out.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "memprof/io/arena_profile.h"
#include "profile/model/model.h"

namespace memprof::cli {

struct RunLook {
  std::vector<profile::Profile> profiles;  // one a process, with names only of code that it made
  std::vector<uint64_t> pids;              // as we know them, in the same order
};

// `arenas`: the folder of the run's.  `run_token`: in those of its processes.  `resident`: by process, looks have what of
// them is in memory where that is due; nullptr: none has.
RunLook look_at_run(const std::string& arenas, uint64_t run_token,
                    std::map<uint64_t, ResidentReads>* resident);

}  // namespace memprof::cli
