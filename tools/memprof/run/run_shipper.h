// SPDX-License-Identifier: Apache-2.0
// Ships the processes of a run while it goes on and at its end, as `memprof ship` does: `memprof run --ship`.
//
// Model: looks are taken at the run's processes only, by their token.  What a process left is read as soon as it has
// ended, or at the run's end where no look saw it: all that the run allocated is shipped once.  The process that was
// started, and those that go on, are shipped with what they held at the run's end; others hold nothing any more.  The spool
// is the run's own and goes with it.
//
// Threads: one of its own from start() to take_last(), and one for each target until finish(); the others call from one
// thread.  start() comes after a fork.
// Failure: making one throws Failure for what the user gave; whatever goes wrong later is said by finish(), and holds up
// neither the program nor its profiles.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "memprof/host/process/roomy_thread.h"
#include "memprof/io/temporary_folder.h"
#include "memprof/pressure/pressure_watch.h"
#include "memprof/run/processes/process_collector.h"
#include "memprof/ship/looks/shipped_process.h"
#include "memprof/ship/senders.h"
#include "memprof/ship/ship_options.h"
#include "memprof/ship/shipper.h"
#include "memprof/ship/spool/spool.h"

namespace memprof::cli {

class RunShipper {
 public:
  // `arenas`: the folder of the run's, "" where there is none.  `run_token`: in those of its processes.
  RunShipper(const ShipChoice& choice, const std::string& arenas, uint64_t run_token);
  ~RunShipper();
  RunShipper(const RunShipper&) = delete;
  RunShipper& operator=(const RunShipper&) = delete;

  void start();
  // Before the files of `last` and `former` go.  `last`: the last programs of processes, of which that with the id `pid` was
  // started by the run; `former`: programs that executed another one.
  void take_last(const std::vector<ProcessProfile>& last, const std::vector<ProcessProfile>& former,
                 uint64_t pid);
  // Waits for targets that answer, for some seconds; says what was shipped and what was lost.
  void finish();

 private:
  void run();
  void stop();
  void guarded(const std::function<void()>& act);

  const double every_s_;
  TemporaryFolder folder_;
  ShippedProcesses processes_;
  Spool spool_;
  Senders senders_;
  Shipper shipper_;
  PressureWatch pressure_;
  std::string error_;    // that ended it
  std::string problem_;  // of a look, the last one
  std::mutex mutex_;     // of is_stopping_
  std::condition_variable changed_;
  bool is_stopping_ = false;
  RoomyThread thread_;
};

}  // namespace memprof::cli
