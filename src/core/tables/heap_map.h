// SPDX-License-Identifier: Apache-2.0
// Address -> live sample.  Lock-free; an erase leaves nothing behind, so a lookup costs the same for ever.
//
// Model: levels of buckets of 8 keys (core/arena/levels.h); for each key a record.  In its bucket a key has
// a home, and goes to the first slot after it that is free, so that a lookup can prefetch
// the likely record before it has read the key.
//     key: 0 empty, 1 being written, else the address
//     insert   0 -> 1 (compare-exchange), generation + 1, record, -> address (release)
//     erase    address -> 1 (compare-exchange), read the record, -> 0 (release), or address with a bit: kept
//     rate, stack  compare-exchange of the record's, each in one word with the generation; an erase takes them out
//     moving   a bit of the record's time: its block is at a realloc, and may be somebody else's before that returns
//     read     key (acquire), generation, record, generation and key again: a difference means "skip"
// An address is inserted before the allocation function returns it and erased before it is really freed, so
// two threads never insert the same address at once; two that erase the same one (a double free in the
// program) are told apart by the compare-exchange. Only realloc frees its block before it is known that it does.
//
// Threads: any number.
// Signals: a handler may insert and erase while its thread is in the middle of either.
// fork: a child must not write (Profiler checks the owner).
// Allocates: levels of its section.
// Failure: insert returns false when no bucket has room, the limit of live samples is reached or memory is
// refused.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/arena.h"
#include "core/arena/live_record.h"

namespace memprof {

namespace reported {

// In the key of a block that the program's own allocator reported (core/engine/reported.h); no address has
// it.
inline constexpr uint64_t kBit = uint64_t{1} << 63;

// Of a key of either kind.
inline uint64_t address_of(uint64_t key) {
  return key & ~kBit;
}

}  // namespace reported

uint32_t live_levels_for(uint64_t max_live_samples);

// Where the records of a level begin, in bytes from the start of the section: after the keys of the level.
inline constexpr uint64_t live_level_offset(uint32_t level) {
  return slots_before(level) * (sizeof(uint64_t) + sizeof(LiveRecord));
}

// In the key of a record whose block was freed after the end of the process had begun, one for each way
// (EndBegun); no address has these bits.
inline constexpr uint64_t kKeptByExitBit = uint64_t{1} << 62;
inline constexpr uint64_t kKeptByRuntimeBit = uint64_t{1} << 61;
inline constexpr uint64_t kKeptBits = kKeptByExitBit | kKeptByRuntimeBit;

struct KeptFrom {
  uint64_t bit = 0;
  uint64_t before_ns = 0;  // 0: none is kept
};

inline bool is_kept(const LiveSample& freed, const KeptFrom& kept) {
  return freed.time_ns < kept.before_ns;
}

class HeapMap {
 public:
  // Names one insertion, not just an address: a later record at the same address has another generation.
  struct Token {
    uint64_t slot = UINT64_MAX;
    uint32_t generation = 0;
    explicit operator bool() const { return slot != UINT64_MAX; }
  };

  HeapMap() = default;
  explicit HeapMap(const Arena& arena) : arena_(arena), section_(arena.at<uint8_t>(kLiveSection)) {}

  // Asks for the lines that an insert, find or erase of this address touches, most likely.
  void prefetch(uint64_t address) const;

  bool insert(const LiveSample& sample);

  // Opens levels until there are as many slots for so many samples as the largest table has for its own.
  void open_for(uint64_t samples);

  // Where the record of an address is; an empty token if there is none.
  Token find(uint64_t address) const;

  // Takes the record out and copies it to *erased.  false: it is not there (any more).  One that is older
  // than `kept.before_ns` stays for readers, under its address and kept.bit: no lookup finds it again.
  bool erase(uint64_t address, Token token, LiveSample* erased, const KeptFrom& kept);
  bool erase(uint64_t address, Token token, LiveSample* erased) { return erase(address, token, erased, {}); }
  bool erase(uint64_t address, LiveSample* erased) { return erase(address, find(address), erased); }

  // The first address from slot *slot on that is in between, both ends included; *slot is then the slot after
  // it.  false: no more.
  bool next_between(uint64_t first, uint64_t last, uint64_t* slot, uint64_t* address) const;
  uint64_t slots() const;  // what next_between looks at

  // What readers are told of a live block when the end of the process has begun.  false: it is gone.
  bool set_resident(uint64_t address, uint32_t code) const;

  // The live record in a slot, of all levels; not one that is kept.
  bool read_slot(uint64_t slot, LiveSample* sample, Token* token) const;
  // The stacks of what slots of one level seem to hold; kNoStack: nothing.
  static constexpr uint32_t kNoStack = UINT32_MAX;
  void peek_stacks(uint64_t first_slot, uint32_t count, uint32_t* stacks) const;

  // Has the record count by another rate from now on.  false: it is gone, or has another rate already.  Who
  // erases it finds one or the other.
  bool change_rate(Token token, uint64_t from, uint64_t to) const;

  // Its block goes to realloc, which may free it and fail to say so before another thread has the address.
  void begin_move(Token token) const;
  // The realloc failed: the block stays.
  void end_move(Token token) const;

  // By what rate a sample was counted as allocated: it stays what it was through changes of its rate.  For who
  // changes samples, one thread at a time.
  uint64_t first_rate(Token token, const LiveSample& sample) const;
  // Before its rate changes for the first time.  false: it is gone, or there is no room for such a rate.
  bool keep_first_rate(Token token, const LiveSample& sample) const;

  // As change_rate(), of another stack (StackTable::ref()).
  bool change_stack(Token token, uint32_t from, uint32_t to) const;

  // The record in a slot, if it holds one that did not change meanwhile.  For snapshots.
  static bool read(const std::atomic<uint64_t>& key, const LiveRecord& record, LiveSample* sample);

  uint64_t size() const { return arena_.header().live_count.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    std::atomic<uint64_t>* key;
    LiveRecord* record;
  };
  Slot slot_at(uint32_t level, uint64_t slot_in_level) const;
  Slot slot_at(uint64_t slot) const;
  bool insert_into(uint32_t level, uint64_t hash, const LiveSample& sample);
  bool open_level(uint32_t level);

  Arena arena_;
  uint8_t* section_ = nullptr;
};

}  // namespace memprof
