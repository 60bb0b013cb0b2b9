// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/code/code_map.h"

#include <algorithm>
#include <cstring>

namespace memprof::v8 {

// A reader that comes in between two stores must stay inside.
uint32_t CodeMap::entries() const {
  return std::min(entries_, kMaxChunks);
}

bool CodeMap::place_of(uint64_t address, Place* place) const {
  const Entry* const end = directory_ + entries();
  const Entry* const above = std::upper_bound(directory_, end, address,
                                              [](uint64_t a, const Entry& entry) { return a < entry.first; });
  if (above == directory_) {
    return false;
  }
  const Entry& entry = above[-1];
  const Code* const codes = chunks_[entry.chunk % kMaxChunks].codes;
  const Code* const next = std::upper_bound(codes, codes + std::min(entry.count, kChunkCodes), address,
                                            [](uint64_t a, const Code& code) { return a < code.start; });
  *place = {static_cast<uint32_t>(above - 1 - directory_), static_cast<uint32_t>(next - codes)};
  return place->index-- != 0;
}

const Code* CodeMap::find(uint64_t address) const {
  Place place{};
  if (!place_of(address, &place)) {
    return nullptr;
  }
  const Code* const code = &chunks_[directory_[place.entry].chunk % kMaxChunks].codes[place.index];
  return address < code->limit() ? code : nullptr;
}

void CodeMap::erase(Place place) {
  Entry& entry = directory_[place.entry];
  Code* const codes = chunks_[entry.chunk].codes;
  memmove(codes + place.index, codes + place.index + 1, (entry.count - place.index - 1) * sizeof(Code));
  --entry.count;
  if (entry.count == 0) {
    free_[free_count_++] = entry.chunk;
    memmove(&entry, &entry + 1, (entries_ - place.entry - 1) * sizeof(Entry));
    --entries_;
  } else if (place.index == 0) {
    entry.first = codes[0].start;
  }
}

bool CodeMap::take_overlapping(uint64_t start, uint64_t limit, Code* taken) {
  Place place{};
  // The last that starts before the limit is the only one that has to be asked: those before it end earlier.
  if (limit <= start || !place_of(limit - 1, &place) || at(place).limit() <= start) {
    return false;
  }
  *taken = at(place);
  erase(place);
  return true;
}

bool CodeMap::take(uint64_t start, Code* taken) {
  Place place{};
  if (!place_of(start, &place) || at(place).start != start) {
    return false;
  }
  *taken = at(place);
  erase(place);
  return true;
}

bool CodeMap::new_chunk(uint32_t* chunk) {
  if (entries_ == kMaxChunks || (free_count_ == 0 && chunks_used_ == kMaxChunks)) {
    return false;
  }
  *chunk = free_count_ != 0 ? free_[--free_count_] : chunks_used_++;
  return true;
}

// The upper half of a full chunk becomes a chunk of its own.
bool CodeMap::split(uint32_t index) {
  uint32_t chunk = 0;
  if (!new_chunk(&chunk)) {
    return false;
  }
  constexpr uint32_t kHalf = kChunkCodes / 2;
  Entry& lower = directory_[index];
  memcpy(chunks_[chunk].codes, chunks_[lower.chunk].codes + kHalf, (kChunkCodes - kHalf) * sizeof(Code));
  memmove(&lower + 2, &lower + 1, (entries_ - index - 1) * sizeof(Entry));
  (&lower)[1] = {chunks_[chunk].codes[0].start, chunk, kChunkCodes - kHalf};
  lower.count = kHalf;
  ++entries_;
  return true;
}

bool CodeMap::insert(const Code& code) {
  if (entries_ == 0) {
    uint32_t chunk = 0;
    if (!new_chunk(&chunk)) {
      return false;
    }
    chunks_[chunk].codes[0] = code;
    directory_[entries_++] = {code.start, chunk, 1};
    return true;
  }
  Place place{};
  const bool has_one_before = place_of(code.start, &place);
  if (!has_one_before) {
    place.entry = 0;
  }
  if (directory_[place.entry].count == kChunkCodes) {
    return split(place.entry) && insert(code);
  }
  Entry& entry = directory_[place.entry];
  Code* const codes = chunks_[entry.chunk].codes;
  const uint32_t index = has_one_before ? place.index + 1 : 0;
  memmove(codes + index + 1, codes + index, (entry.count - index) * sizeof(Code));
  codes[index] = code;
  ++entry.count;
  entry.first = codes[0].start;
  return true;
}

void CodeMap::clear() {
  entries_ = 0;
  chunks_used_ = 0;
  free_count_ = 0;
}

}  // namespace memprof::v8
