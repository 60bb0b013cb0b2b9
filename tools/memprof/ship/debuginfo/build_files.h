// SPDX-License-Identifier: Apache-2.0
// The files of programs and libraries that watched processes run, by build id, and their debug files.
//
// Model: a file is known because a process has its code mapped; the kernel says so, nobody else.  It is opened for each
// request: through the mapping where that is allowed, else by its path, and then it must be the same file (inode).  What is
// opened must have the build id in its own note.  A file stays known when its processes have ended, until the table is full:
// the one that was seen longest ago makes room.
//
// Threads: one object, one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "memprof/host/process/memory_map.h"
#include "memprof/ship/debuginfo/build_request.h"
#include "profile/files/descriptor.h"
#include "profile/symbolize/object/object_file.h"

namespace memprof::cli {

struct BuildFile {
  explicit BuildFile(int fd) : descriptor(fd) {}
  profile::Descriptor descriptor;
  uint64_t size_bytes = 0;
  uint64_t written_unix_ns = 0;
  std::string name;  // without folders
};

struct WatchedProcess {
  uint64_t pid = 0;
  std::string root;  // RunningProcess::root

  bool operator==(const WatchedProcess& other) const { return pid == other.pid && root == other.root; }
};

inline constexpr size_t kMaxBuilds = 4096;

class BuildFiles {
 public:
  explicit BuildFiles(std::string debug_root = profile::kDebugRoot, size_t max_builds = kMaxBuilds);

  // Adds what these processes have mapped now.
  void look(const std::vector<WatchedProcess>& processes);

  bool has(const std::string& build_id) const { return builds_.count(build_id) != 0; }
  size_t size() const { return builds_.size(); }

  // nullptr: it is not known, or not there any more; *is_replaced: something else is where it was.
  std::unique_ptr<BuildFile> open(const BuildRequest& request, bool* is_replaced) const;

 private:
  // Where a process has it.
  struct Place {
    MappedFile mapped;
    std::string root;                // that `mapped.path` is below
    uint64_t device = 0, inode = 0;  // as the system has them of the open file
    bool is_of_root = false;         // nobody but root can have written it
  };
  struct Build {
    std::vector<Place> places;  // those of root first
    uint64_t seen = 0;          // the look
  };

  // The mapped file; its device and inode go to `place` where it has none yet, else must be those.
  static std::unique_ptr<BuildFile> open_place(Place* place);
  static std::unique_ptr<BuildFile> open_place(const Place& place);
  std::unique_ptr<BuildFile> open_debug_file(const std::string& build_id, const Place* place,
                                             const BuildFile* module) const;
  void add(const std::string& build_id, const Place& place);

  const std::string debug_root_;
  const size_t max_builds_;
  std::map<std::string, Build> builds_;
  uint64_t looks_ = 0;
};

}  // namespace memprof::cli
