// SPDX-License-Identifier: Apache-2.0
// The program that `memprof run` starts: it has the standard streams, the process group and the signals that
// it would have without memprof in between.
//
// Signals: while it runs, what is sent to the process group (Ctrl-C, kill -- -PGID) reaches the program
// without memprof, which ignores it; SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1 and SIGUSR2 that a process
// sends to memprof alone are forwarded.  The program gets each once (group_witness.h). SIGTSTP stops both, as
// the terminal sends it to both.  Once the program has ended, SIGINT, SIGQUIT, SIGTERM and SIGHUP end
// memprof, which is about to write the profile; but for a second one of those that it has just had. The
// others are ignored then. SIGPIPE and SIGXFSZ are errors of a write in memprof only.
//
// fork: between fork and exec the child waits, so that its process id is known before it does anything.
// Threads: at most one object at a time, in a program with one thread.
// Owns: two pipes, closed on exec; a witness.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "memprof/host/watch/group_witness.h"

namespace memprof::cli {

// Where the program's standard output goes: where ours does, or to our standard error.
enum class ProgramOutput : unsigned char { kOwn, kStandardError };

class ChildProcess {
 public:
  using Environment = std::vector<std::pair<std::string, std::string>>;

  // Forks.  `environment` is set in the child, and `pid_variable` to its process id.  Throws Failure.
  ChildProcess(const std::vector<std::string>& command, const Environment& environment,
               const std::string& pid_variable, ProgramOutput output = ProgramOutput::kOwn);

  // A child that was not started ends without having done anything.
  ~ChildProcess();

  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  pid_t pid() const { return pid_; }

  // Lets the child execute the command.  Returns 0, or the errno of exec; the child is gone then.
  int start();

  // Waits for its end; returns the status as of waitpid.
  int wait();

  // Then: the most memory that the process, or one of its children that it waited for, had resident, from when it was
  // forked from this one on; 0: no more than this process has.
  uint64_t max_resident_bytes() const { return max_resident_bytes_; }

  // Then: what the kernel calls the last program that it executed, at most 15 bytes; "": not known.
  const std::string& last_name() const { return last_name_; }

 private:
  [[noreturn]] void run_child(const std::vector<std::string>& command, const Environment& environment,
                              const std::string& pid_variable, ProgramOutput output);
  void take_signals();
  void reap();

  pid_t pid_ = -1;
  int go_[2] = {-1, -1};      // parent to child: one byte, then exec
  int failed_[2] = {-1, -1};  // child to parent: errno of exec
  int status_ = 0;
  uint64_t max_resident_bytes_ = 0;
  std::string last_name_;
  std::optional<GroupWitness> witness_;
};

// The exit status as shells have it: of exit, or 128 + signal.
int exit_status(int wait_status);

}  // namespace memprof::cli
