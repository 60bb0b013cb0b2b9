// SPDX-License-Identifier: Apache-2.0
// Adds looks at processes to the file of a series, which it makes at the first.
//
// Threads: one object, one thread.
// Failure: throws profile::Error and Failure.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "memprof/record/record_options.h"
#include "profile/model/model.h"
#include "profile/series/series_file.h"

namespace memprof::cli {

class SeriesRecorder {
 public:
  // `path`: as it is to be called.  `program` and `pid`: of the process, or of the first one of a run.
  SeriesRecorder(std::string path, const RecordChoice& choice, std::string program, uint64_t pid);

  // `profile`: with its names.  `pids`: those that live and that it is of.
  void add(const profile::Profile& profile, const std::vector<uint64_t>& pids);

  const std::string& path() const { return path_; }
  uint64_t looks() const { return writer_ ? writer_->looks() : 0; }

  // "wrote FILE: 12 looks; next: memprof report FILE", or why there is none.
  std::string summary() const;

 private:
  void add_proportional_size(const std::vector<uint64_t>& pids, profile::SystemFigures* figures);

  std::string path_;
  RecordChoice choice_;
  profile::Series facts_;
  std::chrono::steady_clock::time_point next_proportional_;  // not before
  std::optional<profile::SeriesWriter> writer_;
};

}  // namespace memprof::cli
