// SPDX-License-Identifier: Apache-2.0
// The executables and libraries (their code segments) that stacks run through.  One is recorded when a new
// stack first needs it, so it is known even when it was unloaded before the profile is written.
//
// Model: a row of entries that only grows.  A module that is loaded where another was is a new entry; a
// reader that looks for an address takes the latest entry that contains it.
//
// Threads: any number.  An entry is published with release.  Two threads that see
// the same module first at the same moment may both enter it: readers drop the second.
// Allocates: from its section.  Failure: a full table leaves frames without module (they keep their address).
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena.h"
#include "core/name_table.h"
#include "core/platform.h"

namespace memprof {

struct ModuleEntry {
  std::atomic<uint32_t> state;  // 0 not written yet, 2 ready (release; readers acquire)
  uint32_t path;                // name id
  uint64_t start;
  uint64_t limit;
  uint64_t file_offset;
  uint64_t bias;
  uint32_t build_id_size;
  uint32_t reserved;
  uint8_t build_id[platform::kMaxBuildIdBytes];
};

class ModuleTable {
 public:
  static constexpr uint32_t kReady = 2;

  ModuleTable() = default;
  ModuleTable(const Arena& arena, NameTable* names);

  // Records the modules of the frames of a new stack.
  void note(const uint64_t* frames, uint32_t depth);

  uint64_t size() const;

 private:
  bool knows(const platform::ModuleInfo& info) const;
  void enter(const platform::ModuleInfo& info);

  Arena arena_;
  NameTable* names_ = nullptr;
  ModuleEntry* entries_ = nullptr;
};

}  // namespace memprof
