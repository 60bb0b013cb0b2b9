// SPDX-License-Identifier: Apache-2.0
// The tally of a run (format/files/run_tally.h): made before the program starts, read when it has ended.
//
// Threads: one at a time.
// Owns: its mapping of the file, not the file.
// Failure: where there can be none, it counts nothing and has nobody.
#pragma once

#include <cstdint>
#include <string>

namespace memprof {
struct RunTally;
}

namespace memprof::cli {

class RunTallyFile {
 public:
  // `folder`: the run's, for arenas; empty: there is none.
  RunTallyFile(const std::string& folder, uint64_t run_token);
  ~RunTallyFile();
  RunTallyFile(const RunTallyFile&) = delete;
  RunTallyFile& operator=(const RunTallyFile&) = delete;

  // nullptr: there is none.
  const RunTally* tally() const { return tally_; }
  // How many processes there were that memprof was in, by now.
  uint64_t processes() const;
  // Whether this one was among them; `process_start` as in ProcessProfile.
  bool has(uint64_t pid, uint64_t process_start) const;

 private:
  RunTally* tally_ = nullptr;
};

}  // namespace memprof::cli
