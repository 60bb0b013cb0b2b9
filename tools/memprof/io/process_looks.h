// SPDX-License-Identifier: Apache-2.0
// What a running process holds, as a profile, as often as it is asked for; its files are read once.
//
// Threads: one command's own.
// Failure: throws profile::Error.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "memprof/host/process/running_process.h"
#include "memprof/io/arena_profile.h"
#include "memprof/io/kept_arena.h"
#include "memprof/io/profile_input.h"
#include "profile/model/model.h"
#include "profile/symbolize/shared_names.h"

namespace memprof::cli {

class ProcessLooks {
 public:
  // `names`: of the files of other processes, too, where several are looked at.
  ProcessLooks(RunningProcess process, AskServers ask_servers,
               std::shared_ptr<profile::SharedNames> names = std::make_shared<profile::SharedNames>());

  // `raw`: with names only of code that the process made.
  profile::Profile look(bool raw);
  // What it held when it ended, or holds now: also when it has removed its file.  Throws
  // Failure, too.
  profile::Profile look_at_end();

  // Names what a profile of the process has no names for, which its files tell.
  void name(profile::Profile* named);

  // From now on each look has what of its blocks is in memory.  Looks without it throw.
  void want_resident() { resident_.is_always = true; }
  // From now on no look has that, which takes time.
  void do_without_resident() { reads_resident_ = false; }
  void use_names(std::shared_ptr<profile::SharedNames> names) { names_ = std::move(names); }

  // Whether the process is still what it was.
  bool is_there() const;
  // Whether it executes another program now, which has an arena of the same name.
  bool is_replaced() const { return kept_.is_replaced(); }
  const RunningProcess& process() const { return process_; }

 private:
  profile::Profile look_at(const std::string& path, ResidentReads* resident, bool raw);

  RunningProcess process_;
  KeptArena kept_;
  AskServers ask_servers_;
  ResidentReads resident_;
  bool reads_resident_ = true;
  std::shared_ptr<profile::SharedNames> names_;
};

}  // namespace memprof::cli
