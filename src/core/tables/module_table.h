// SPDX-License-Identifier: Apache-2.0
// The executables and libraries (their code segments) that stacks run through.  One is recorded when a new
// stack first needs it, so it is known even when it was unloaded before the profile is written.
//
// Model: a row of entries that only grows.  A frame is an address, and an address belongs to the first entry
// that contains it.  Once a module was unloaded (retire_unloaded) another one may come to its addresses: then
// frames in such a place carry, in the 16 bits that no address has, which entry they belong to:
//     63 ....... 48 47 ........ 0
//     `- entry+1 -' `- address -'        0: the first entry that contains the address, or none
// A module that comes back where it was is the entry that it was.
//
// Threads: any number.  An entry is published with release.  Two threads that see the same module first at
// the same moment may both enter it: readers drop the second.  A thread that loads a library while another
// one is between its dlclose and retire_unloaded may record frames of it without a tag.
// Allocates: from its section.
// Failure: a full table leaves frames without module (they keep their address).
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/arena.h"
#include "core/tables/name_table.h"
#include "platform/modules.h"

namespace memprof {

struct ModuleEntry {
  std::atomic<uint32_t> state;  // 0 not written yet, 2 ready (release; readers acquire)
  uint32_t path;                // name id
  uint64_t start;
  uint64_t limit;
  uint64_t file_offset;
  uint64_t bias;
  uint32_t build_id_size;
  std::atomic<uint32_t> is_unloaded;  // relaxed
  uint8_t build_id[platform::kMaxBuildIdBytes];
};

class ModuleTable {
 public:
  static constexpr uint32_t kReady = 2;

  ModuleTable() = default;
  ModuleTable(const Arena& arena, NameTable* names);

  // Writes tags into frames, where a module was unloaded; before the stack is looked up.
  void tag(uint64_t* frames, uint32_t depth);

  // Records the modules of the frames of a new stack.  true: one of them lies where another module was, whose
  // unloading nobody told us of (the C library unloads some by itself); that one is retired now, and what was
  // remembered of its code is wrong.
  bool note(const uint64_t* frames, uint32_t depth);

  // Asks the loader which modules are gone.  After each unload.
  void retire_unloaded();

  uint64_t size() const;
  // An address in the code of an entry, i < size(); 0: it is just being written.
  uint64_t code_of(uint64_t i) const;

  static uint64_t address_of(uint64_t frame) { return frame & kAddressMask; }
  // Of a tag: the entry, or UINT32_MAX.
  static uint32_t entry_of(uint64_t frame) { return static_cast<uint32_t>(frame >> kAddressBits) - 1; }

 private:
  static constexpr int kAddressBits = 48;
  static constexpr uint64_t kAddressMask = (uint64_t{1} << kAddressBits) - 1;
  static constexpr uint64_t kNone = UINT64_MAX;

  // The entry of what is loaded now, made or revived if need be; kNone: the table is full.
  uint64_t enter(const platform::ModuleInfo& info);
  void retire(ModuleEntry& entry);
  // Of all that lie where `info` is loaded.
  bool retire_replaced(const platform::ModuleInfo& info);
  bool is(const ModuleEntry& entry, const platform::ModuleInfo& info) const;
  uint64_t tag_of(uint64_t address);

  Arena arena_;
  NameTable* names_ = nullptr;
  ModuleEntry* entries_ = nullptr;
  // All retired modules lie in between; limit 0: there are none.  Written before is_unloaded.
  std::atomic<uint64_t> retired_start_{UINT64_MAX};
  std::atomic<uint64_t> retired_limit_{0};
};

}  // namespace memprof
