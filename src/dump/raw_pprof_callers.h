// SPDX-License-Identifier: Apache-2.0
// The hashes of rows of callers that many stacks share (dump/raw_pprof_frames.h): what a piece with all of its callers
// does to a hash is remembered, for each low byte that the hash had before.
//
// Model: a cache with one place for each hash of both: what comes later takes the place of what was there.
// Threads: no state but its own.  Allocates: never; in scratch memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "dump/raw_pprof.h"
#include "dump/raw_pprof_tables.h"
#include "format/hash.h"

namespace memprof::profile {

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

}  // namespace memprof::profile
