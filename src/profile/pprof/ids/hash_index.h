// SPDX-License-Identifier: Apache-2.0
// Finds the entries of a table by a hash of theirs: what std::unordered_multimap<hash, index> does, in one piece of
// memory of 8 to 32 bytes an entry.
//
// Model: open addressing with linear probing, at most half full.  Of a hash its lower half is kept.
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace memprof::profile {

class HashIndex {
 public:
  // One of the entries that were added with this hash, or with one like it, that is_it(entry) is true of.
  template <typename IsIt>
  std::optional<uint32_t> find(uint64_t hash, const IsIt& is_it) const {
    if (slots_.empty()) return std::nullopt;
    const auto half = static_cast<uint32_t>(hash);
    for (size_t at = place_of(half); slots_[at].entry != kFree; at = next(at)) {
      if (slots_[at].half == half && is_it(slots_[at].entry)) return slots_[at].entry;
    }
    return std::nullopt;
  }

  // `entry`: any number but UINT32_MAX.
  void add(uint64_t hash, uint32_t entry) {
    if (2 * (count_ + 1) > slots_.size()) grow();
    put({static_cast<uint32_t>(hash), entry});
    ++count_;
  }

 private:
  static constexpr uint32_t kFree = UINT32_MAX;
  struct Slot {
    uint32_t half = 0;  // of the hash
    uint32_t entry = kFree;
  };

  size_t place_of(uint32_t half) const { return half & (slots_.size() - 1); }
  size_t next(size_t at) const { return (at + 1) & (slots_.size() - 1); }

  void put(const Slot& slot) {
    size_t at = place_of(slot.half);
    while (slots_[at].entry != kFree) at = next(at);
    slots_[at] = slot;
  }

  void grow() {
    constexpr size_t kFewest = 64;
    std::vector<Slot> before(slots_.empty() ? kFewest : 2 * slots_.size());
    before.swap(slots_);
    for (const Slot& slot : before) {
      if (slot.entry != kFree) put(slot);
    }
  }

  std::vector<Slot> slots_;  // a power of two of them, or none
  size_t count_ = 0;
};

}  // namespace memprof::profile
