// SPDX-License-Identifier: Apache-2.0
// Processes of a run that memprof records nothing of: static programs, those that got another environment, those
// with other rights, those whose malloc is their own.  Found by looks at /proc while the run goes on; of those that live
// less than the time between two looks executed_programs.h has what the run knows.
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
#include <set>
#include <string>
#include <utility>
#include <vector>

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

  void look();

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
    uint64_t stack_start = 0;  // with `program`, tells the programs that it executes one after the other
    std::string program;
    Verdict verdict = Verdict::kUnknown;
    unsigned looks = 0;
    UnseenProcess unseen;

    // Its allocator may be hooked later.
    bool is_final() const { return verdict != Verdict::kUnknown && !unseen.has_library; }
  };

  struct Stat;

  bool is_of_run(const Stat& stat, const std::map<uint64_t, Stat>& all, unsigned depth);
  void look_at(const Stat& stat);
  void forget_gone(const std::map<uint64_t, Stat>& all);
  void keep(const Known& known);
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
};

}  // namespace memprof::cli
