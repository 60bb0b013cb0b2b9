// SPDX-License-Identifier: Apache-2.0
// Processes of a run that memprof records nothing of: static programs, those that got another environment, those
// with other rights, those whose malloc is their own.  Found by looks at /proc while the run goes on; of those that live
// less than the time between two looks executed_programs.h has what the run knows.  A look costs what the run's own
// processes and the new ones of the machine do, not what all of them would (docs/decisions/0116).
//
// Model: of the run is the process that was started, what a process of the run started, and who has the run's
// token in its environment (a daemon's parent is gone).  Each program that a process executes is judged once;
// the last one counts.
//
// Threads: one at a time.
// Failure: what cannot be read is not judged.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "memprof/host/watch/process_stat.h"
#include "memprof/host/watch/recent_processes.h"

namespace memprof::cli {

struct UnseenProcess {
  uint64_t pid = 0;
  uint64_t process_start = 0;
  // The last look that saw it, on the clock of memprof_snapshot_info.start_ns; where it has memprof in it, the
  // first.
  uint64_t seen_ns = 0;
  std::string program;
  std::string why;           // "is statically linked ..."
  bool has_library = false;  // memprof is in it, and it has an allocator that memprof has not hooked yet
};

class UnseenProcesses {
 public:
  // `root`: the process that was started.  `token`: what MEMPROF_RUN_TOKEN is in the run.  `follow`: the
  // processes that it starts are of the run, too.
  UnseenProcesses(uint64_t root, std::string token, bool follow);

  // What a look found.
  struct Changes {
    std::vector<uint64_t> begun;  // processes of the run that are new
    bool is_any = false;          // new ones, one that executed another program, one that is gone
    bool is_open = false;         // a process cannot be judged yet
  };
  // At new processes, at those of the run that are young, and at some of the others, in turn.
  Changes look();
  // Also at these, which are said to have ended.
  Changes look(const std::vector<uint64_t>& ended);
  // Also at all that were seen without memprof: it has just begun in a process.
  Changes look_at_unseen(const std::vector<uint64_t>& ended);
  // At all processes of the machine: the numbers of new ones are not always to be had, and may be given again.
  Changes look_at_all();

  // Those that live, and of those that are gone the first.
  std::vector<UnseenProcess> processes() const;
  // Whether it has not ended; `process_start` as in UnseenProcess, or somewhat later.
  static bool lives(uint64_t pid, uint64_t process_start);
  // How many more there were.
  uint64_t more() const { return more_; }

 private:
  enum class Verdict { kUnknown, kHasMemprof, kUnseen };

  struct Known {
    uint64_t process_start = 0;
    ProcessStat stat;  // with `program`, tells the programs that it executes one after the other
    std::string program;
    Verdict verdict = Verdict::kUnknown;
    unsigned visits = 0;  // since it executed the program
    unsigned looks = 0;   // those that did not tell yet
    UnseenProcess unseen;

    // Its allocator may be hooked later.
    bool is_final() const { return verdict != Verdict::kUnknown && !unseen.has_library; }
  };

  Changes end_look();
  void visit(uint64_t pid);
  void visit_new(uint64_t id, bool is_last_try);
  void visit_young_and_some();
  bool is_of_run(const ProcessStat& stat, unsigned depth);
  void look_at(const ProcessStat& stat);
  const ProcessStat* stat_of(uint64_t pid);
  void keep(const Known& known);
  static bool is_still_there(uint64_t pid, const Known& known);
  void judge(uint64_t pid, Known* known) const;
  void judge_with_library(uint64_t pid, uint64_t looked_ns, Known* known) const;

  const uint64_t root_;
  const std::string token_;
  const bool follow_;
  uint64_t root_start_ = 0;
  std::map<uint64_t, Known> known_;  // of the run, by process id
  std::vector<UnseenProcess> gone_;
  uint64_t more_ = 0;
  std::set<std::pair<uint64_t, uint64_t>> of_others_;  // process id and start
  RecentProcesses recent_;
  std::vector<uint64_t> not_there_;  // ids that were given, and that no process had at the last look
  uint64_t turn_ = 0;                // the process that was visited last, of those that are visited in turn
  // Of one look.
  std::map<uint64_t, std::optional<ProcessStat>> stats_;
  Changes changes_;
};

}  // namespace memprof::cli
