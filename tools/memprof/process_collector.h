// SPDX-License-Identifier: Apache-2.0
// Turns the arenas of the processes of a run into profiles without names, each as soon as its process is
// gone: the memory of an arena is much, and the files that have the names of its JIT code vanish.
//
// Threads: one of its own from start() to finish(), with all signals blocked; the others call from one
// thread. Owns: the files in `arenas` (removed when they were read) and those it makes in `profiles`.
// Failure: an arena that cannot be read is counted.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "memprof/arena_files.h"
#include "profile/model.h"

namespace memprof::cli {

struct ProcessProfile {
  std::string path;  // pprof without names, but for JIT code
  std::string program;
  uint64_t pid = 0;
  uint64_t samples = 0;
  uint64_t dropped_samples = 0;
  uint64_t rate_bytes = 0;
  double live_bytes = 0;
  double allocated_bytes = 0;
  bool still_runs = false;  // it outlived the run
  bool has_ended = true;  // false: killed, or it became another program without the library, or it still runs
};

struct Collected {
  std::vector<ProcessProfile> processes;
  size_t unreadable = 0;
  std::string unreadable_why;  // of the first
  size_t left_out = 0;         // beyond the limit
};

class ProcessCollector {
 public:
  static constexpr size_t kMostProcesses = 4096;

  // `arenas`: a folder, or empty.  `profiles`: a folder; processes that have no arena to be read write there.
  ProcessCollector(std::string arenas, std::string profiles);
  ~ProcessCollector();
  ProcessCollector(const ProcessCollector&) = delete;
  ProcessCollector& operator=(const ProcessCollector&) = delete;

  void start();
  // After the process that was started has ended.  Once.
  Collected finish();

 private:
  enum class Which { kOfTheDead, kAll };

  void run();
  void stop();
  void collect(Which which);
  void collect(const ArenaFile& file, bool still_runs);
  void add_unreadable(const std::exception& reason);
  // `pprof` is written to `path`; empty: it is there already.
  void add(profile::Profile profile, const std::string& pprof, const std::string& path, bool still_runs,
           bool has_ended);

  const std::string arenas_;
  const std::string profiles_;
  Collected collected_;
  std::set<std::string> unseen_;  // arenas of whose process the last look saw nothing
  std::mutex mutex_;              // of stopping_
  std::condition_variable changed_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace memprof::cli
