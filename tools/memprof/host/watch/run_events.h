// SPDX-License-Identifier: Apache-2.0
// What tells that something happened in a run, so that nobody has to look for it: processes that end, and files that
// are made or opened in the run's folder for arenas.
//
// Threads: wait(), rest() and watch_end() by one; wake() by any.
// Owns: its descriptors.
// Failure: what the system does not tell is said (tells_of_files, watch_end): the caller looks then.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace memprof::cli {

class RunEvents {
 public:
  // `folder`: the run's, for arenas; empty: there is none.
  explicit RunEvents(const std::string& folder);
  ~RunEvents();
  RunEvents(const RunEvents&) = delete;
  RunEvents& operator=(const RunEvents&) = delete;

  // false: not even wake() works.
  bool is_usable() const { return events_ >= 0 && wake_ >= 0; }
  bool tells_of_files() const { return files_ >= 0; }

  // Whether wait() will tell of its end.  Idempotent.
  bool watch_end(uint64_t pid);

  struct News {
    bool is_woken = false;
    bool has_files = false;       // an arena was made, or a process that memprof is in began
    std::vector<uint64_t> ended;  // process ids

    bool is_any() const { return is_woken || has_files || !ended.empty(); }
  };
  // Until something happened, or the time is over.
  News wait(std::chrono::nanoseconds at_most);
  // Until the time is over, whatever happens, or wake() was called: true.
  bool rest(std::chrono::nanoseconds time) const;
  // Ends a wait() or rest() and all that come after.
  void wake();

 private:
  bool add(int fd, uint64_t what);

  const size_t max_ends_;
  int events_ = -1;
  int wake_ = -1;
  int files_ = -1;
  std::map<uint64_t, int> ends_;  // a descriptor for each process id
};

}  // namespace memprof::cli
