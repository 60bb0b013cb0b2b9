// SPDX-License-Identifier: Apache-2.0
// The executables and libraries (their code segments) that stacks run through.  One is recorded when a new
// stack first needs it, so it is known even when it was unloaded before the profile is written.
//
// Model: a row of entries.  A frame is an address, and carries in the 15 bits that no address has which entry it
// belongs to:
//     62 ....... 48 47 ........ 0
//     `- entry+1 -' `- address -'        0: the primary entry that contains the address, or none
// Primary is an entry at whose addresses no other one was before: most programs have no others, and their frames
// no tags.  kNoEntry: the module is not in the table.  A module that comes back where it was is the entry that it
// was.
//
// An entry of a module that was unloaded is free for another one when no stack names it any more
// (core/tables/table_sweep.h); from then on new entries are not primary.  `state` says which of those that had
// the entry it is now.
//
// Threads: any number.  An entry is published with release.  Two threads that see the same module first at
// the same moment may both enter it: readers drop the second.  A thread that loads a library while another
// one is between its dlclose and retire_unloaded may record frames of it without a tag.
// Allocates: from its section.
// Failure: a full table leaves frames without module (they keep their address), and counts the module.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/arena.h"
#include "core/tables/name_table.h"
#include "platform/modules.h"

namespace memprof {

struct ModuleEntry {
  std::atomic<uint32_t> state;  // kReady, kPrimary, kFree; above them `reuse` (release; readers acquire)
  uint32_t path;                // name id, held
  uint64_t start;
  uint64_t limit;
  uint64_t file_offset;
  uint64_t bias;
  uint32_t build_id_size;
  std::atomic<uint32_t> unloads;  // lowest bit: it is unloaded; above it, how often it came back.  Relaxed
  uint8_t build_id[platform::kMaxBuildIdBytes];
};

class ModuleTable {
 public:
  static constexpr uint32_t kPrimary = 1;
  static constexpr uint32_t kReady = 2;
  static constexpr uint32_t kFree = 4;
  static constexpr uint32_t kReuse = 8;  // one more of them
  static constexpr uint32_t kUnloaded = 1;

  static bool is_ready(uint32_t state) { return (state & kReady) != 0; }
  static bool is_primary(uint32_t state) { return (state & kPrimary) != 0; }

  ModuleTable() = default;
  // `entered` hears of each module that gets an entry, by an address in its code; it is called from hooks.
  using Entered = void (*)(uint64_t code);
  ModuleTable(const Arena& arena, NameTable* names, Entered entered = nullptr);

  // Writes tags into frames, where a module was unloaded; before the stack is looked up.
  void tag(uint64_t* frames, uint32_t depth);

  // Records the modules of the frames of a new stack.  true: one of them lies where another module was, whose
  // unloading nobody may have told us of (the C library unloads some by itself); that one is retired now, what was
  // remembered of its code is wrong, and frames need tags.
  bool note(const uint64_t* frames, uint32_t depth);

  // Asks the loader which modules are gone.  After each unload.
  void retire_unloaded();

  uint64_t size() const;
  // Entries that a module has.
  uint64_t in_use() const {
    return size() - arena_.header().sweep.free_modules.load(std::memory_order_relaxed);
  }

  // For the sweep: of an entry that is ready and unloaded, so often; 0 of others.
  uint32_t unloads_of(uint64_t i) const;
  const ModuleEntry& entry(uint64_t i) const { return entries_[i]; }
  // Takes the entry from its module, if that did not come back since.
  bool free_entry(uint64_t i, uint32_t unloads);

  static uint64_t address_of(uint64_t frame) { return frame & kAddressMask; }
  // Of a tag: the entry, or UINT32_MAX.
  static uint32_t entry_of(uint64_t frame) { return static_cast<uint32_t>(frame >> kAddressBits) - 1; }

 private:
  static constexpr int kAddressBits = 48;
  static constexpr uint64_t kAddressMask = (uint64_t{1} << kAddressBits) - 1;
  static constexpr uint64_t kNone = UINT64_MAX;
  static constexpr uint64_t kNoEntry = 0x7fff;
  static_assert(kMaxModules < kNoEntry);

  // The entry of what is loaded now, made or revived if need be; kNone: the table is full.
  uint64_t enter(const platform::ModuleInfo& info);
  uint64_t revive(const platform::ModuleInfo& info, bool* is_overlapping);
  uint64_t take_entry(bool* is_fresh);
  void add_loaded(uint64_t i);
  void retire(uint64_t i, std::atomic<uint16_t>* slot);
  // Of all that lie where `info` is loaded.  *itself: the loaded entry of that module, if there is one.
  bool retire_replaced(const platform::ModuleInfo& info, uint64_t* itself);
  bool is(const ModuleEntry& entry, const platform::ModuleInfo& info) const;
  void tag_within(uint64_t* frames, uint32_t depth, uint64_t start, uint64_t limit);
  uint64_t loaded_at(uint64_t address);
  void tag_all_within(uint64_t start, uint64_t limit);
  template <typename Visit>
  void each_loaded(const Visit& visit);

  Arena arena_;
  NameTable* names_ = nullptr;
  Entered entered_ = nullptr;
  ModuleEntry* entries_ = nullptr;
  // All that need a tag, and all retired ones, lie in between; limit 0: there are none.  Written before an entry
  // is retired or published.
  std::atomic<uint64_t> tagged_start_{UINT64_MAX};
  std::atomic<uint64_t> tagged_limit_{0};
  // Indexes, and 1, of the entries that are loaded, in slots below loaded_end_; 0: the slot is free.
  std::atomic<uint32_t> loaded_end_{0};
  std::atomic<bool> has_freed_{false};
  std::atomic<uint16_t> loaded_[kMaxModules] = {};
};

}  // namespace memprof
