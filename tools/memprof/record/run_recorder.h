// SPDX-License-Identifier: Apache-2.0
// Records the processes of a run while it lasts: what all that live hold together, every so often.
//
// Threads: one of its own from start() to finish(); the others call from one thread.
// Failure: an error ends the recording, never the run; finish() says it.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "memprof/host/process/roomy_thread.h"
#include "memprof/io/arena_profile.h"
#include "memprof/record/record_options.h"
#include "memprof/record/series_recorder.h"
#include "profile/symbolize/shared_names.h"

namespace memprof::cli {

class RunRecorder {
 public:
  // `arenas`: the folder of the run's.  `run_token`: in those of its processes.
  RunRecorder(std::string arenas, uint64_t run_token, std::string path, const RecordChoice& choice,
              std::string program, uint64_t pid);
  ~RunRecorder();
  RunRecorder(const RunRecorder&) = delete;
  RunRecorder& operator=(const RunRecorder&) = delete;

  void start();
  // Says what was recorded, or why nothing.
  std::string finish();

 private:
  void run();
  void stop();
  void look();

  const std::string arenas_;
  const uint64_t run_token_;
  const RecordChoice choice_;
  SeriesRecorder recorder_;
  std::map<uint64_t, ResidentReads> resident_;  // by process
  profile::SharedNames names_;
  std::string error_;  // that ended the recording
  std::mutex mutex_;   // of stopping_
  std::condition_variable changed_;
  bool stopping_ = false;
  RoomyThread thread_;
};

}  // namespace memprof::cli
