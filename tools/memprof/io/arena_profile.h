// SPDX-License-Identifier: Apache-2.0
// The arena of a process, alive or dead, as a profile.
//
// Threads: no state.
// Failure: throws profile::Error "PATH: what is wrong".
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "memprof.h"
#include "profile/model/model.h"

namespace memprof::cli {

// The bytes of a profile, in pages that are given back with it.
class ProfileBytes {
 public:
  ProfileBytes() = default;
  ProfileBytes(const void* pages, size_t size) : pages_(pages), size_(size) {}
  ~ProfileBytes();
  ProfileBytes(ProfileBytes&& other) noexcept { swap(other); }
  ProfileBytes& operator=(ProfileBytes&& other) noexcept {
    swap(other);
    return *this;
  }

  std::string_view view() const { return {static_cast<const char*>(pages_), size_}; }

 private:
  void swap(ProfileBytes& other) noexcept {
    std::swap(pages_, other.pages_);
    std::swap(size_, other.size_);
  }

  const void* pages_ = nullptr;
  size_t size_ = 0;
};

// What a file has.  Nobody may make the file shorter.
ProfileBytes map_profile(const std::string& path);

struct FreeSnapshot {
  void operator()(memprof_snapshot* snapshot) const { memprof_free_snapshot(snapshot); }
};
using OpenSnapshot = std::unique_ptr<memprof_snapshot, FreeSnapshot>;

OpenSnapshot open_arena(const std::string& path);

struct ArenaFacts {
  bool has_ended = false;  // the process came to its end by itself
  uint64_t start_ns = 0;   // when it was made, on a clock of the machine
};

struct ArenaContent : ArenaFacts {
  ProfileBytes pprof;  // without names
};

// Reads of what a running process has in memory.  Of a large one they take time, while it may have to wait for them:
// at most 2 % of the time goes there.
struct ResidentReads {
  uint64_t pid = 0;  // as we know it
  std::chrono::steady_clock::time_point next{};
  bool is_always = false;  // who looks wants it each time, and limits the time itself
};

// `resident`: with what its process has in memory, if that is due; nullptr: without.
ArenaContent read_arena(const std::string& path, ResidentReads* resident = nullptr);
// The same into a file, which it is written to as it is made.
ArenaFacts write_arena(const std::string& path, int fd, ResidentReads* resident = nullptr);

// Whether the file is called as arenas are.
bool is_arena_path(const std::string& path);

}  // namespace memprof::cli
