// SPDX-License-Identifier: Apache-2.0
// The frames of stacks as a pprof profile has them (dump/raw_pprof.h): as locations with ids, and as the keys that the id
// of a stack is made of.  What stacks share is numbered once.
//
// Threads: no state but its own.  Allocates: never; in scratch memory.
// Failure: ok() where the scratch memory is too small, or kNoRoom.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dump/raw_pprof.h"
#include "dump/raw_pprof_tables.h"
#include "format/pprof/comments.h"
#include "format/pprof/proto_encoder.h"

namespace memprof::profile {

// strlen without libc; a text of the process that is longer than any path is cut.
inline size_t text_size(const char* text) {
  size_t size = 0;
  while (size < 65536 && text[size] != '\0') {
    ++size;
  }
  return size;
}

class FrameTable {
 public:
  static constexpr size_t kNoRoom = SIZE_MAX;

  struct Counts {
    size_t different = 0;  // at most
    size_t deepest = 0;
  };
  static Counts count(const RawProfile& profile) {
    Counts counts;
    for (size_t i = 0; i < profile.stack_count; ++i) {
      size_t depth = profile.stacks[i].depth;
      counts.different += depth;
      for_each_piece(profile, profile.stacks[i], [&](size_t /*first*/) { depth += RawCallers::kCount; });
      counts.deepest = depth > counts.deepest ? depth : counts.deepest;
    }
    counts.different += caller_frames(profile);
    return counts;
  }

  FrameTable(const RawProfile& profile, Scratch& scratch, const Counts& counts)
      : profile_(profile),
        ids_(scratch.take<uint8_t>(ids_bytes(counts))),
        caller_hashes_(scratch, profile.callers.count),
        uses_(scratch, has_uses(profile)),
        pieces_(scratch.take<PieceIds>(profile.callers.count)),
        runtime_keys_(scratch.take<uint64_t>(profile.runtime_frame_count)),
        locations_(scratch, counts.different) {
    if (!ok()) {
      return;
    }
    for (size_t i = 0; i < profile.callers.count; ++i) {
      pieces_[i].size = 0;
    }
    for (size_t i = 0; i < profile.runtime_frame_count; ++i) {
      const RawRuntimeFrame& f = profile.runtime_frames[i];
      runtime_keys_[i] = source_key(f.name, text_size(f.name), f.file, text_size(f.file), f.line);
    }
  }

  static size_t scratch_bytes(const RawProfile& profile, const Counts& counts) {
    return aligned(ids_bytes(counts)) + CallerHashes::scratch_bytes(profile.callers.count) +
           KeyUses::scratch_bytes(has_uses(profile)) + aligned(profile.callers.count * sizeof(PieceIds)) +
           aligned(profile.runtime_frame_count * sizeof(uint64_t)) +
           aligned(counts.different * sizeof(uint64_t)) +
           2 * last_slots(counts.different) * sizeof(uint32_t);  // the last table and all before it
  }

  bool ok() const { return locations_.ok(); }  // taken last

  // Before the first stack: the locations that most stacks have get the ids that take one byte.  They are what most
  // of a large file consists of.
  void number_most_used() {
    if (!has_uses(profile_)) {
      return;
    }
    const size_t step = profile_.stack_count / kLookedAt;
    for (size_t at = 0; at + step <= profile_.stack_count; at += step) {
      // Not at the same place of each part: programs repeat themselves.
      const RawStack& stack = profile_.stacks[at + (at * kGolden >> 32) % step];
      if (stack.allocated.samples == 0) {  // it may not be written
        continue;
      }
      for (size_t k = 0; k < stack.depth; ++k) {
        uses_.add(location_key(stack.frames, stack.modules, k));
      }
      for_each_piece(profile_, stack, [&](size_t first) {
        for (size_t k = first; k < first + RawCallers::kCount; ++k) {
          uses_.add(location_key(profile_.callers.frames, profile_.callers.modules, k));
        }
      });
    }
    uses_.for_most_used([this](uint64_t key) { static_cast<void>(locations_.id(key)); });
  }

  // The ids of the locations of a stack, as varints: in ids(), until the next call.  Returns how many bytes; kNoRoom: there
  // is none.
  size_t number(const RawStack& stack) {
    uint8_t* to = ids_;
    bool has_room = number(stack.frames, stack.modules, stack.depth, &to);
    for_each_piece(profile_, stack, [&](size_t first) {
      PieceIds& piece = pieces_[first / RawCallers::kCount];
      if (has_room && piece.size == 0) {
        uint8_t* end = piece.varints;
        has_room = number(profile_.callers.frames + first, profile_.callers.modules + first,
                          RawCallers::kCount, &end);
        piece.size = static_cast<uint8_t>(end - piece.varints);
      }
      std::memcpy(to, piece.varints, sizeof(piece.varints));  // all: of a size that is known
      to += piece.size;
    });
    return has_room ? static_cast<size_t>(to - ids_) : kNoRoom;
  }
  const uint8_t* ids() const { return ids_; }

  // By ids; the keys of those of a runtime are their words.
  const LocationTable& locations() const { return locations_; }
  const LocationKeys<RawModule>& keys() const { return keys_; }

  bool is_runtime_frame(uint64_t word) const {
    return (word & kRuntimeFrame) != 0 && (word ^ kRuntimeFrame) < profile_.runtime_frame_count;
  }

  // Of the stack's locations alone.
  StackId id_of(const RawStack& stack) {
    StackId id;
    for (size_t i = 0; i < stack.depth; ++i) {
      id.add(key_of(stack.frames, stack.modules, i));
    }
    caller_hashes_.add(profile_.callers.callers, stack.callers, &id.hash(), [this](Fnv1a* hash, size_t i) {
      hash->word(key_of(profile_.callers.frames, profile_.callers.modules, i));
    });
    return id;
  }

 private:
  static constexpr size_t kIdBytes = 5;  // at most, of 32 bits

  struct PieceIds {
    uint8_t size;  // 0: not numbered yet
    uint8_t varints[kIdBytes * RawCallers::kCount];
  };

  // With what a copy of a whole piece goes beyond it.
  static size_t ids_bytes(const Counts& counts) { return kIdBytes * (counts.deepest + RawCallers::kCount); }

  static constexpr size_t kLookedAt = 512;  // stacks: enough to tell what most of them have

  static bool has_uses(const RawProfile& profile) { return profile.stack_count >= 2 * kLookedAt; }

  static size_t caller_frames(const RawProfile& profile) {
    return profile.callers.count * RawCallers::kCount;
  }

  // visit(the index of the piece's first frame)
  template <typename Visit>
  static void for_each_piece(const RawProfile& profile, const RawStack& stack, const Visit& visit) {
    for (uint32_t piece = stack.callers; piece != 0; piece = profile.callers.callers[piece]) {
      visit(size_t{piece} * RawCallers::kCount);
    }
  }

  bool number(const uint64_t* frames, const uint32_t* modules, size_t count, uint8_t** to) {
    for (size_t i = 0; i < count; ++i) {
      const uint32_t id = locations_.id(location_key(frames, modules, i));
      if (id == 0) {
        return false;
      }
      *to += wire::put_varint(*to, id);
    }
    return true;
  }

  // By which a location is told from others of this file.
  uint64_t location_key(const uint64_t* frames, const uint32_t* modules, size_t i) const {
    return is_runtime_frame(frames[i]) ? frames[i] : address_key(frames, modules, i);
  }

  // By which it is in the id of a stack.
  uint64_t key_of(const uint64_t* frames, const uint32_t* modules, size_t i) const {
    return is_runtime_frame(frames[i]) ? runtime_keys_[frames[i] ^ kRuntimeFrame]
                                       : address_key(frames, modules, i);
  }

  // Of the call, not the instruction after it, which may belong to another line or function.
  uint64_t address_key(const uint64_t* frames, const uint32_t* modules, size_t i) const {
    const uint64_t address = frames[i] - 1;
    return modules != nullptr ? keys_.key(address, modules[i]) : address;
  }

  const RawProfile& profile_;
  uint8_t* ids_;
  CallerHashes caller_hashes_;
  KeyUses uses_;
  PieceIds* pieces_;
  uint64_t* runtime_keys_;
  LocationTable locations_;
  const LocationKeys<RawModule> keys_{profile_.modules, profile_.module_count};
};

}  // namespace memprof::profile
