// SPDX-License-Identifier: Apache-2.0
// Debug files, and modules that are gone, from the servers in DEBUGINFOD_URLS, by build id.  elfutils' libdebuginfod asks them and keeps
// what it got in the user's cache; it is loaded when it is first needed, so that nothing else depends on it.
//
// Threads: one object, one thread; libdebuginfod may start some.
// Failure: a server that sends nothing for a while is not contacted again; warning() says so.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace memprof::profile {

struct DebuginfodOptions {
  std::chrono::milliseconds max_silence{15'000};  // without a byte of a file whose size is known
  std::chrono::milliseconds max_time{180'000};    // for one file
  // Called while a file is on its way, a few times a second, by a thread that find() makes and ends, and last by find():
  // what for, bytes so far, bytes in all (0: unknown), whether it has ended.
  std::function<void(const std::string& path, uint64_t bytes, uint64_t total, bool is_over)> progress;
};

class Debuginfod {
 public:
  explicit Debuginfod(DebuginfodOptions options);
  ~Debuginfod();
  Debuginfod(const Debuginfod&) = delete;
  Debuginfod& operator=(const Debuginfod&) = delete;

  // The path of what a server gave as the debug file with this build id, for the module at `path`; empty: none has it.
  // No server is contacted while DEBUGINFOD_URLS is not set.
  std::string find(const std::string& build_id, const std::string& path);

  // The same of the module itself, where it is not on this machine any more.
  std::string find_executable(const std::string& build_id, const std::string& path);

  // What went wrong, one line; empty: nothing.
  const std::string& warning() const { return warning_; }

 private:
  struct Query;
  struct Library;
  class Display;
  enum class Wanted { kDebuginfo, kExecutable };
  bool begin();
  std::string find(Wanted wanted, const std::string& build_id, const std::string& path);
  bool is_given_up(Query* query, long bytes, long total) const;
  static int on_progress(void* client, long bytes, long total);

  DebuginfodOptions options_;
  std::unique_ptr<Library> library_;
  void* client_ = nullptr;
  bool has_begun_ = false;
  std::string warning_;
};

}  // namespace memprof::profile
