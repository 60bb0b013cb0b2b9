// SPDX-License-Identifier: Apache-2.0
// What the writer of a pprof profile numbers (dump/raw_pprof.h): locations and functions; and what it remembers of them.
// In tables in scratch memory.
//
// Threads: no state but their own.  Allocates: never.
// Failure: nullptr or 0 where the scratch memory is too small.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dump/raw_pprof.h"
#include "format/hash.h"

namespace memprof::profile {

inline constexpr size_t kFirstSlots = 1024;  // a power of two

inline constexpr size_t aligned(size_t bytes) {
  return (bytes + 15) & ~size_t{15};
}

// The table of locations is at most half full; it begins small and doubles into fresh scratch, so that pages
// are touched in proportion to the different addresses.
inline size_t last_slots(size_t addresses) {
  size_t slots = kFirstSlots;
  while (slots / 2 < addresses) {
    slots *= 2;
  }
  return slots;
}

// Allocates from the scratch memory.  After one failure all later calls fail, so that only the last one has to be
// checked.
class Scratch {
 public:
  Scratch(void* memory, size_t bytes) : at_(static_cast<uint8_t*>(memory)), left_(bytes) {}

  template <typename T>
  T* take(size_t count) {
    const size_t bytes = aligned(count * sizeof(T));
    if (bytes > left_) {
      left_ = 0;
      return nullptr;
    }
    void* taken = at_;
    at_ += bytes;
    left_ -= bytes;
    return static_cast<T*>(taken);
  }

 private:
  uint8_t* at_;
  size_t left_;
};

// Numbers the distinct keys of locations from 1, in the order in which they are first asked for.
class LocationTable {
 public:
  LocationTable(Scratch& scratch, size_t max)
      : scratch_(scratch), addresses_(scratch.take<uint64_t>(max)), slots_(new_slots(kFirstSlots)) {}

  bool ok() const { return addresses_ != nullptr && slots_ != nullptr; }
  size_t size() const { return size_; }
  uint64_t address(size_t index) const { return addresses_[index]; }

  // 0: no room.
  uint32_t id(uint64_t address) {
    uint32_t* slot = find(address);
    if (*slot != 0) {
      return *slot;
    }
    if (size_ >= slot_count_ / 2) {
      if (!grow()) {
        return 0;
      }
      slot = find(address);
    }
    addresses_[size_++] = address;
    return *slot = static_cast<uint32_t>(size_);
  }

 private:
  uint32_t* new_slots(size_t count) {
    auto* slots = scratch_.take<uint32_t>(count);
    if (slots != nullptr) {
      std::memset(slots, 0, count * sizeof(*slots));
      slot_count_ = count;
    }
    return slots;
  }

  // The slot of the address, or the empty one where it belongs.
  uint32_t* find(uint64_t address) const {
    uint64_t hash = address * kGolden;
    hash ^= hash >> 32;
    for (size_t i = hash & (slot_count_ - 1);; i = (i + 1) & (slot_count_ - 1)) {
      if (slots_[i] == 0 || addresses_[slots_[i] - 1] == address) {
        return &slots_[i];
      }
    }
  }

  bool grow() {
    uint32_t* slots = new_slots(slot_count_ * 2);
    if (slots == nullptr) {
      return false;
    }
    slots_ = slots;
    for (size_t i = 0; i < size_; ++i) {
      *find(addresses_[i]) = static_cast<uint32_t>(i + 1);
    }
    return true;
  }

  Scratch& scratch_;
  uint64_t* addresses_;
  size_t slot_count_ = 0;
  uint32_t* slots_;
  size_t size_ = 0;
};

// Counts how often keys of locations are used, in a table of a fixed size: keys that find no place in it are not counted.
class KeyUses {
 public:
  KeyUses(Scratch& scratch, bool is_used) : slots_(is_used ? scratch.take<Slot>(kSlots) : nullptr) {
    if (slots_ != nullptr) {
      std::memset(static_cast<void*>(slots_), 0, kSlots * sizeof(Slot));
    }
  }

  static size_t scratch_bytes(bool is_used) { return is_used ? aligned(kSlots * sizeof(Slot)) : 0; }

  void add(uint64_t key) {
    const uint64_t hash = key * kGolden;
    for (size_t i = 0; i < kTries; ++i) {
      Slot& slot = slots_[((hash >> 32) + i) & (kSlots - 1)];
      if (slot.uses == 0 || slot.key == key) {
        slot.key = key;
        ++slot.uses;
        return;
      }
    }
  }

  // visit(key) for as many as there are ids of one byte, the most used first.
  template <typename Visit>
  void for_most_used(const Visit& visit) const {
    constexpr size_t kMost = 127;
    const Slot* most[kMost];
    size_t count = 0;
    for (size_t i = 0; i < kSlots; ++i) {
      const Slot* const slot = slots_ + i;
      if (slot->uses < 2 || (count == kMost && slot->uses <= most[kMost - 1]->uses)) {
        continue;
      }
      size_t at = count < kMost ? count++ : kMost - 1;
      for (; at != 0 && most[at - 1]->uses < slot->uses; --at) {
        most[at] = most[at - 1];
      }
      most[at] = slot;
    }
    for (size_t i = 0; i < count; ++i) {
      visit(most[i]->key);
    }
  }

 private:
  struct Slot {
    uint64_t key;
    uint32_t uses;  // 0: empty
  };

  static constexpr size_t kSlots = size_t{1} << 14;
  static constexpr size_t kTries = 8;

  Slot* slots_;
};

// The hashes of rows of callers that many stacks share: what a piece with all of its callers does to a hash is remembered,
// for each low byte that the hash had before.  A cache with one place for each hash of both: what comes later takes the
// place of what was there.
class CallerHashes {
 public:
  CallerHashes(Scratch& scratch, size_t pieces)
      : mask_(places_of(pieces) - 1), places_(scratch.take<Place>(places_of(pieces))) {
    if (places_ != nullptr) {
      std::memset(static_cast<void*>(places_), 0, places_of(pieces) * sizeof(Place));
    }
  }

  static size_t scratch_bytes(size_t pieces) { return aligned(places_of(pieces) * sizeof(Place)); }

  // Adds the frames of `piece` and of its callers.  add_frame(hash, i): frame i of RawProfile::callers.
  template <typename AddFrame>
  void add(const uint32_t* callers, uint32_t piece, Fnv1a* hash, const AddFrame& add_frame) {
    struct New {
      Place* place;
      uint32_t piece;
      Fnv1a before;
    };
    constexpr size_t kMaxNew = 32;  // a signal handler's stack may be small
    New fresh[kMaxNew];
    size_t count = 0;
    uint64_t factor = 1;  // of what comes behind those
    for (; piece != 0; piece = callers[piece]) {
      Place& place = places_[slot_of(piece, hash->low_byte())];
      if (place.piece == piece && place.low_byte == hash->low_byte()) {
        factor *= place.step.factor;
        hash->apply(place.step);
        break;
      }
      if (count < kMaxNew) {
        fresh[count++] = {&place, piece, *hash};
      } else {
        factor *= kPieceFactor;
      }
      for (size_t i = 0; i < RawCallers::kCount; ++i) {
        add_frame(hash, size_t{piece} * RawCallers::kCount + i);
      }
    }
    while (count != 0) {
      const New& one = fresh[--count];
      factor *= kPieceFactor;
      *one.place = {one.piece, one.before.low_byte(), Fnv1a::step(one.before, *hash, factor)};
    }
  }

 private:
  struct Place {
    uint32_t piece;  // 0: empty
    uint32_t low_byte;
    Fnv1a::Step step;
  };

  static constexpr uint64_t kPieceFactor = Fnv1a::factor_of(RawCallers::kCount * sizeof(uint64_t));
  static constexpr size_t kMinPlaces = 64;
  static constexpr size_t kMaxPlaces = size_t{1} << 16;

  static size_t places_of(size_t pieces) {
    size_t places = kMinPlaces;
    while (places < pieces && places < kMaxPlaces) {
      places *= 2;
    }
    return places;
  }

  size_t slot_of(uint32_t piece, uint32_t low_byte) const {
    const uint64_t hash = (uint64_t{piece} << 8 | low_byte) * kGolden;
    return (hash >> 32) & mask_;
  }

  size_t mask_;
  Place* places_;
};

// Numbers the distinct functions of runtime frames from 1, in the order of their first use.  The caller has one
// string for each name, so strings are compared by address.
class FunctionTable {
 public:
  FunctionTable(Scratch& scratch, const RawProfile& profile)
      : mask_(slots_of(profile) - 1), slots_(scratch.take<Slot>(slots_of(profile))) {
    if (slots_ != nullptr) {
      std::memset(static_cast<void*>(slots_), 0, slots_of(profile) * sizeof(Slot));
    }
  }

  static size_t scratch_bytes(const RawProfile& profile) { return aligned(slots_of(profile) * sizeof(Slot)); }

  size_t size() const { return size_; }

  uint32_t id(const RawRuntimeFrame& frame) {
    uint64_t hash = (reinterpret_cast<uintptr_t>(frame.name) ^ reinterpret_cast<uintptr_t>(frame.file) << 20 ^
                     frame.function_line) *
                    kGolden;
    hash ^= hash >> 32;
    for (size_t i = hash & mask_;; i = (i + 1) & mask_) {
      Slot& slot = slots_[i];
      if (slot.id == 0) {
        slot = {frame.name, frame.file, frame.function_line, ++size_};
        return slot.id;
      }
      if (slot.name == frame.name && slot.file == frame.file && slot.line == frame.function_line) {
        return slot.id;
      }
    }
  }

 private:
  struct Slot {
    const char* name;
    const char* file;
    uint32_t line;
    uint32_t id;  // 0: empty
  };

  // At most half full.
  static size_t slots_of(const RawProfile& profile) {
    size_t slots = 2;
    while (slots / 2 < profile.runtime_frame_count) {
      slots *= 2;
    }
    return slots;
  }

  size_t mask_;
  Slot* slots_;
  uint32_t size_ = 0;
};

}  // namespace memprof::profile
