// SPDX-License-Identifier: Apache-2.0
// Programs that processes of a run executed and that memprof did not begin in, as the tally of the run has them
// (format/files/run_tally.h): also those that no look at /proc saw.  What a program without memprof executes is not in it.
//
// Threads: one at a time.
// Model: the tally has the last programs only, so it is looked at while the run goes on.
// Failure: of whom the tally no longer has the program, the number is known and nothing else.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <utility>
#include <vector>

#include "format/files/run_tally.h"
#include "memprof/run/processes/unseen_processes.h"

namespace memprof::cli {

class ExecutedPrograms {
 public:
  // `tally`: nullptr: there is none, and nothing is found.
  explicit ExecutedPrograms(const RunTally* tally) : tally_(tally) {}

  void look();

  struct Found {
    std::vector<UnseenProcess> processes;
    uint64_t more = 0;
  };
  // What is not `known`: who still lives, or is accounted for.  For each process, the last of its programs.
  Found take(const std::function<bool(const UnseenProcess&)>& is_known);

 private:
  using Programs =
      std::map<std::pair<uint64_t, uint64_t>, UnseenProcess>;  // by process id and when it was noted
  using Entry = Programs::iterator;

  std::pair<Entry, Entry> of_process(uint64_t id);

  const RunTally* const tally_;
  Programs found_;
};

}  // namespace memprof::cli
