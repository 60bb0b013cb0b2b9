// SPDX-License-Identifier: Apache-2.0
// Turns the arenas of the processes of a run into profiles without names, each as soon as its process is
// gone: the memory of an arena is much, and the files that have the names of its JIT code vanish.
//
// Threads: one of its own from start() to finish(), with all signals blocked; the others call from one
// thread.
// Owns: the files in `arenas` (removed when they were read) and those it makes in `profiles`.
// Model: an arena is of one program that a process executed (an image).  It is taken where it has the run's
// token, which only the run's processes know: others can put files into the folder, too.
// Failure: an arena that cannot be read is counted.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "memprof/host/process/arena_files.h"
#include "memprof/host/process/roomy_thread.h"
#include "memprof/host/watch/run_events.h"
#include "memprof/run/processes/executed_programs.h"
#include "memprof/run/processes/left_profile.h"
#include "memprof/run/processes/run_tally_file.h"
#include "memprof/run/processes/unseen_processes.h"
#include "profile/model/model.h"

namespace memprof::cli {

struct ProcessProfile {
  std::string path;   // pprof without names, but for JIT code
  std::string arena;  // the name of the file that it was made of; empty: the process wrote it itself
  std::string program;
  std::string command_line;  // profile::Profile::command_line
  uint64_t pid = 0;
  uint64_t process_start = 0;  // tells processes that had one id; 0: unknown
  uint64_t pid_namespace = 0;
  uint64_t start_ns = 0;  // orders the images of one process; 0: unknown
  uint64_t samples = 0;
  bool has_mappings = false;  // that were recorded, and are still there
  uint64_t dropped_samples = 0;
  uint64_t rate_bytes = 0;
  double peak_bytes = 0;
  double live_bytes = 0;
  double allocated_bytes = 0;
  uint64_t max_resident_bytes = 0;  // as the system counted it; 0: what the profile says is all that is known
  uint64_t own_max_resident_bytes = 0;  // as the profile has it; 0: not known
  uint64_t bypassing_libraries = 0;
  bool still_runs = false;  // it outlived the run
  // What `path` has: of the process that was collected last, which mostly is the only one, so that it is read once.  Who
  // needs it takes it.
  std::shared_ptr<LeftProfile> profile;
  bool has_ended = true;  // false: killed, or it became another program without the library, or it still runs

  // A profile that shows nothing.
  bool is_empty() const { return samples == 0 && !has_mappings; }
};

// Whether a profile tells that memprof was in the process after all: it began after the process was seen without, or,
// where that was only guessed from the program's file, it is of that program and has samples.
bool is_overruled(const UnseenProcess& unseen, const ProcessProfile& process);

// Whose processes are collected.
struct RunIdentity {
  uint64_t pid = 0;    // of the process that was started
  uint64_t token = 0;  // in the arenas that are taken, and in the processes' environment
  bool follow = true;  // also what that process starts
};

struct Collected {
  std::vector<ProcessProfile> processes;
  size_t unreadable = 0;
  std::string unreadable_why;         // of the first
  size_t left_out = 0;                // beyond the limit
  size_t foreign = 0;                 // files that are not of a process of the run
  std::vector<UnseenProcess> unseen;  // processes that memprof is not in
  uint64_t more_unseen = 0;           // beyond those
  uint64_t with_memprof = 0;  // processes that memprof was in, and that `unseen` has not; 0: not counted
};

class ProcessCollector {
 public:
  static constexpr size_t kMaxProcesses = 4096;

  // `arenas`: a folder, or empty.  `profiles`: a folder; processes that have no arena to be read write there.
  ProcessCollector(std::string arenas, std::string profiles, const RunIdentity& run);
  ~ProcessCollector();
  ProcessCollector(const ProcessCollector&) = delete;
  ProcessCollector& operator=(const ProcessCollector&) = delete;

  // false: the system gives no thread.  Then nothing is collected before the end, and processes without
  // memprof are not noticed.
  bool start();
  // After the process that was started has ended.  Once.
  Collected finish();

 private:
  enum class Which { kOfTheDead, kAll };

  using Duration = std::chrono::nanoseconds;

  void run();
  void stop();
  UnseenProcesses::Changes look(const RunEvents::News& news, bool is_whole);
  // Returns what the look at the arenas took, without that at what is collected.
  Duration collect(Which which);
  void collect(const ArenaFile& file, bool still_runs);
  void take_unseen();
  bool is_overruled_by_profile(const UnseenProcess& unseen) const;
  void add_unreadable(const std::exception& reason);
  // What process.path has.
  void add(const std::shared_ptr<LeftProfile>& left, ProcessProfile process);
  // One profile at a time is in memory.
  void forget_last();

  const std::string arenas_;
  const std::string profiles_;
  const uint64_t run_token_;
  const RunTallyFile tally_;
  UnseenProcesses watched_;
  ExecutedPrograms executed_;
  Collected collected_;
  std::set<std::string> stuck_;   // files that cannot be removed
  std::set<std::string> unseen_;  // arenas of whose process the last look saw nothing
  RunEvents events_;
  RoomyThread thread_;
};

}  // namespace memprof::cli
