// SPDX-License-Identifier: Apache-2.0
// What stands in the way of profiling the programs that processes of a run execute, by their files.  Each file is
// inspected once, however many processes execute it: hundreds of compilers are one file.
//
// Threads: one at a time.
// Failure: a file that cannot be examined is inspected each time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>

namespace memprof::cli {

class ProgramObstacles {
 public:
  static constexpr size_t kMaxKept = 1024;

  struct Found {
    std::string obstacle;      // "is statically linked ..."; empty: none
    bool has_memprof = false;  // it is linked into it
  };
  // `program`: its path, which may be /proc/PID/exe.  `root`: the root folder of who executes it, as others hold other
  // libraries.
  Found look_at(const std::string& program, const std::string& root);
  // How many files were inspected.
  size_t inspected() const { return inspected_; }

 private:
  // Device, inode, time of change and size of the file; device and inode of the root folder.
  using Key = std::tuple<uint64_t, uint64_t, int64_t, int64_t, int64_t, uint64_t, uint64_t>;

  std::map<Key, Found> known_;
  size_t inspected_ = 0;
};

}  // namespace memprof::cli
