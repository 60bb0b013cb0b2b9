// SPDX-License-Identifier: Apache-2.0
#include "core/tables/name_table.h"

#include <cstring>

namespace memprof {
NameTable::NameTable(const Arena& arena)
    : arena_(arena),
      index_(arena, kNameIndexSection, &arena.header().name_levels),
      entries_(arena.at<NameEntry>(kNameSection)) {}

uint32_t NameTable::make(uint64_t hash, const char* text, uint64_t size_bytes) {
  const uint64_t text_offset = arena_.allocate(kTextSection, size_bytes + 1);
  if (text_offset == Arena::kNoOffset) {
    return kNone;
  }
  const uint64_t offset = arena_.allocate(kNameSection, sizeof(NameEntry));
  if (offset == Arena::kNoOffset) {
    return kNone;
  }
  char* copy = arena_.at<char>(kTextSection, text_offset);
  memcpy(copy, text, size_bytes);
  copy[size_bytes] = '\0';
  *arena_.at<NameEntry>(kNameSection, offset) = {hash, text_offset, size_bytes};
  return static_cast<uint32_t>(offset / sizeof(NameEntry));
}

uint32_t NameTable::intern(const char* text, uint64_t size_bytes) {
  const uint64_t size = size_bytes < kMostNameBytes ? size_bytes : kMostNameBytes;
  const uint64_t hash = mix_hash(hash_bytes(text, size));
  return index_.find_or_insert(
      hash,
      [&](uint32_t id) {
        const NameEntry& e = entries_[id];
        return e.hash == hash && e.size_bytes == size && memcmp(this->text(id), text, size) == 0;
      },
      [&] { return make(hash, text, size); });
}

}  // namespace memprof
