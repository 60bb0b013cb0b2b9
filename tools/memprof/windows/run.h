// SPDX-License-Identifier: Apache-2.0
// memprof run, on Windows: a program with memprof.dll in it, and the profile of what that recorded.
//
// Processes that it starts have profiles of their own.
//
// Model: the process is made suspended, memprof.dll is loaded by a thread of it, and it goes on.  Its tables lie in a file of
// a folder that is this run's; when it has ended, or was killed, memprof.dll makes the profile of that file here.
#pragma once

#include <string>
#include <vector>

namespace memprof::cli {

struct RunRequest {
  std::wstring rate;  // as the user wrote it; empty: memprof.dll's choice
  std::wstring
      output;  // empty: memprof-PID.pb.gz; of processes that it starts: the process id before the end
  bool mappings = false;  // also the memory that it maps itself, even where MEMPROF_MMAP is 0
  std::vector<std::wstring> command;
};

// The program's exit status; 2: it was not started, or its profile could not be written although it ended with 0.
unsigned run(const RunRequest& request);

}  // namespace memprof::cli
