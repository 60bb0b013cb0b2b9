// SPDX-License-Identifier: Apache-2.0
// What `memprof run` leaves behind: a profile with names for each process that had a sample, and lines that
// say so.
//
// Model: which file is whose (choose_outputs) is decided before anything is written.  The names of a
// program's files are looked up once for all its processes.
//
// Failure: write_outputs says what could not be written and keeps the profile without names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "memprof/io/temporary_folder.h"
#include "memprof/run/processes/process_collector.h"
#include "memprof/run/run_options.h"
#include "memprof/run/small_processes.h"

namespace memprof::cli {

struct RunOutput {
  ProcessProfile process;
  std::string path;
  std::string unseen_heap;          // profile::unseen_heap_text
  std::string told_apart;           // Profile::told_apart
  std::string bypassing;            // profile::bypassing_text
  bool is_oom_killed = false;       // oom_kill.h
  uint64_t memory_limit_bytes = 0;  // then, of its group; 0: none
};

struct RunFacts {
  uint64_t pid = 0;  // of the process that was started
  std::string program;
  int64_t time_seconds = 0;
};

// The last program that a process executed is its result, also where memprof was not in it.  Takes the others
// out of `processes` and returns those of them that had a sample.
std::vector<ProcessProfile> take_former_programs(std::vector<ProcessProfile>* processes,
                                                 const std::vector<UnseenProcess>& unseen);

// What of the run is in no profile, for who reads one of them.
struct Missing {
  uint64_t unseen = 0;             // processes that memprof was not in
  std::vector<std::string> names;  // "nginx (pid 12) is statically linked ..."; not all of them
  uint64_t uncollected = 0;        // processes whose data was not read
  uint64_t unsampled = 0;          // processes that memprof was in, but that had no sample
  SmallProcesses small;            // which had one, and have no file
};

// Each process that had a sample, the started one first and then the largest.  The pattern's own path (where
// it has no %p) is the started process's, or, when that had no sample, the largest one's; the others' have
// their process id put in: out.pb.gz, out.1234.pb.gz.  The started process also when it had no sample, unless
// another had one.
std::vector<RunOutput> choose_outputs(std::vector<ProcessProfile> processes, const RunOptions& options,
                                      const RunFacts& facts);

// Of the files of write_outputs the one to look at first; `outputs` has one at least.
const std::string& path_to_look_at(const std::vector<RunOutput>& outputs, const RunOptions& options);

// Whether all of it was written.  With options.merge it is one file, that of the first.  `missing` goes into
// the first.
bool write_outputs(const std::vector<RunOutput>& outputs, const RunOptions& options, const Missing& missing,
                   TemporaryFolder& folder);

}  // namespace memprof::cli
