// SPDX-License-Identifier: Apache-2.0
// The part of a snapshot that reads an arena from its file.
//
// Model: who owns the file may be hostile: it may be sparse where its header says it is full, and change or
// become shorter at any time.  A page of a mapping that has no memory would get some by being read, or be a
// SIGBUS.  So nothing is mapped: what has memory in the file is copied to pages of our own, and then read as
// any arena.  Live records are copied in pieces, and each twice: one that changed meanwhile is left out.
#include <algorithm>
#include <cstring>

#include "core/reader/snapshot_source.h"
#include "core/tables/heap_map.h"
#include "platform/files.h"
#include "platform/memory.h"

namespace memprof {
namespace {

// Slots that are looked at together: a page of keys.
constexpr uint64_t kPieceSlots = kPageBytes / sizeof(uint64_t);
static_assert(kFirstLevelSlots % kPieceSlots == 0);

struct Piece {
  LiveRecord records_before[kPieceSlots];
  std::atomic<uint64_t> keys[kPieceSlots];
  LiveRecord records[kPieceSlots];
};

}  // namespace

Snapshot::Source::~Source() {
  if (file >= 0 && base != nullptr) {
    platform::release_pages(const_cast<uint8_t*>(base), length_bytes);
  }
}

bool Snapshot::Source::open_file(int fd, uint64_t length, bool* has_memory) {
  *has_memory = true;
  if (length < kPageBytes) {
    return false;
  }
  auto* copy = static_cast<uint8_t*>(platform::reserve_pages(length));
  *has_memory = copy != nullptr;
  if (copy == nullptr) {
    return false;
  }
  file = fd;
  base = copy;
  length_bytes = length;
  copy_part(0, kPageBytes);
  return !is_cut && open(copy, length);
}

void Snapshot::Source::copy_part(uint64_t offset, uint64_t size_bytes) {
  platform::advise_dense(const_cast<uint8_t*>(base) + offset, size_bytes);
  is_cut |= !platform::file_read(file, offset, const_cast<uint8_t*>(base) + offset, size_bytes);
}

// Bytes of a section, from its start, that have memory in the file.
uint64_t Snapshot::Source::filled_bytes(uint32_t id) const {
  return platform::file_data_end(file, offsets[id]) - offsets[id];
}

void Snapshot::Source::load(SectionId id) {
  if (file >= 0 && used[id] != 0) {
    copy_part(offsets[id], used[id]);
  }
}

void Snapshot::Source::load_part(SectionId id, uint64_t offset_in_section, uint64_t size_bytes) {
  if (file >= 0 && offset_in_section <= used[id] && size_bytes <= used[id] - offset_in_section) {
    copy_part(offsets[id] + offset_in_section, size_bytes);
  }
}

// A record is read before and after its key: where it is the same, no insertion began in between, and what
// the key was written for is whole.  The order of the bytes within one copy does not matter.
bool Snapshot::copy_records_of_file(Source* source) {
  auto* piece = static_cast<Piece*>(platform::reserve_pages(sizeof(Piece)));
  if (piece == nullptr) {
    return false;
  }
  const auto copy = [source](uint64_t offset, void* bytes, uint64_t size_bytes) {
    source->is_cut |=
        !platform::file_read(source->file, source->offsets[kLiveSection] + offset, bytes, size_bytes);
  };
  const uint64_t filled =
      std::min(source->filled_bytes(kLiveSection), live_level_offset(source->live_levels));
  for (uint32_t level = 0; level < source->live_levels && !source->is_cut; ++level) {
    const uint64_t records_at = live_level_offset(level) + level_slots(level) * sizeof(uint64_t);
    for (uint64_t first = 0; first < level_slots(level) && !source->is_cut; first += kPieceSlots) {
      const uint64_t keys_at = live_level_offset(level) + first * sizeof(uint64_t);
      const uint64_t piece_at = records_at + first * sizeof(LiveRecord);
      if (piece_at + sizeof(piece->records) > filled) {
        break;
      }
      copy(keys_at, piece->keys, sizeof(piece->keys));
      if (std::all_of(piece->keys, piece->keys + kPieceSlots,
                      [](const auto& key) { return key.load(std::memory_order_relaxed) == 0; })) {
        continue;
      }
      copy(piece_at, piece->records_before, sizeof(piece->records_before));
      copy(keys_at, piece->keys, sizeof(piece->keys));
      copy(piece_at, piece->records, sizeof(piece->records));
      for (uint64_t slot = 0; slot < kPieceSlots && !source->is_cut; ++slot) {
        LiveSample sample;
        if (HeapMap::read(piece->keys[slot], piece->records_before[slot], &sample) &&
            LiveRecord::are_of_one(piece->records_before[slot], piece->records[slot])) {
          add_record(sample);
        }
      }
    }
  }
  platform::release_pages(piece, sizeof(Piece));
  return true;
}

}  // namespace memprof
