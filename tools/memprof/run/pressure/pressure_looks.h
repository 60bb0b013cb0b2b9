// SPDX-License-Identifier: Apache-2.0
// Looks at a run when the memory of its group (cgroup) gets short: a profile of what its processes hold then, all in one,
// and a line that says who holds the most.
//
// Model: out.pb.gz has a folder out.pressure beside it, with at-80-percent.pb.gz, at-90-percent.pb.gz, at-95-percent.pb.gz
// and stalled.pb.gz, as far as there was reason for them.  Each has the newest such moment, but is written once a minute at
// most, and is said once.  What holds when the group is as full as that when the run begins is none of its doing.
//
// The program comes first: what a look takes counts in the same group.  Where little is left of its limit, names are read
// after the program has ended.  Checks take a five-thousandth of a processor at most, and are a second apart while less than half
// of the limit is used; without a limit they are rare.  They come faster only while the use grows so that it passes a mark
// soon.
//
// Threads: one of its own from start() to stop(); the others call from one thread.
// Failure: what goes wrong is said once, and holds up neither the program nor its profiles.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>

#include "memprof/host/process/roomy_thread.h"
#include "memprof/pressure/pressure_watch.h"
#include "memprof/record/run_looks.h"
#include "profile/model/model.h"

namespace memprof::cli {

struct PressureChoice {
  std::function<RunLook()> take;  // what the run's processes hold now
  uint64_t pid = 0;               // of the process that is started; it is there already
  std::string output;             // the path of its profile
  bool force = false;             // replaces looks of earlier runs
  bool raw = false;               // without names
};

class PressureLooks {
 public:
  // `root`: what stands before /proc and /sys.
  explicit PressureLooks(PressureChoice choice, const std::string& root = "");
  ~PressureLooks() { stop(); }
  PressureLooks(const PressureLooks&) = delete;
  PressureLooks& operator=(const PressureLooks&) = delete;

  // Without a thread there are no looks, nor where the address space is limited (ulimit -v).
  void start();
  void stop();
  // After stop(): gives names to looks that have none yet.  Returns the path of the newest look; "": there is none.
  std::string finish();

  // What the thread does, every so often.  Returns how long until the next one.
  std::chrono::nanoseconds check();

  // How long until the next check.  `took`: of a processor, by the last one.
  static std::chrono::nanoseconds pause_after(const PressureWatch& watch, std::chrono::nanoseconds took);

  // The same where the fullest group went from `before` to `now` percent in `time`: shorter where it passes a mark soon.
  static std::chrono::nanoseconds pause_while_growing(double before, double now,
                                                      std::chrono::nanoseconds time,
                                                      std::chrono::nanoseconds pause);

 private:
  using Clock = std::chrono::steady_clock;

  struct File {
    std::string path;
    Clock::time_point next{};  // not before
    bool is_written = false;
    bool is_said = false;
    bool has_names = false;
  };

  void run();
  void look(const Pressure& pressure);
  void write(const profile::Profile& profile, File* file);

  const PressureChoice choice_;
  PressureWatch watch_;
  std::map<std::string, File> files_;  // by what they are called in the folder
  std::string newest_;
  double last_percent_ = 0;
  Clock::time_point last_check_ = Clock::now();
  std::mutex mutex_;  // of is_stopping_
  std::condition_variable changed_;
  bool is_stopping_ = false;
  RoomyThread thread_;
};

}  // namespace memprof::cli
