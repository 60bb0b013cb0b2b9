// SPDX-License-Identifier: Apache-2.0
#include "core/tables/name_table.h"

#include <cstring>

namespace memprof {
namespace {

// Entries that are looked at for one that nobody uses.
constexpr uint32_t kNameLooks = 64;

// What a text is shortened to, one after the other; with the NUL a multiple of TextPiece::kRoomUnit.
constexpr uint64_t kShortened[] = {63, 31, 15};
constexpr char kEllipsis[] = "...";
constexpr uint64_t kEllipsisBytes = sizeof(kEllipsis) - 1;

// Not in the middle of a character of UTF-8.
uint64_t cut_at(const char* text, uint64_t size_bytes) {
  constexpr unsigned kContinues = 0x80;
  constexpr unsigned kMask = 0xc0;
  while (size_bytes != 0 && (static_cast<unsigned char>(text[size_bytes]) & kMask) == kContinues) {
    --size_bytes;
  }
  return size_bytes;
}

}  // namespace

NameTable::NameTable(const Arena& arena)
    : arena_(arena),
      index_(arena, kNameIndexSection, &arena.header().name_levels),
      entries_(arena.at<NameEntry>(kNameSection)) {}

bool NameTable::hold(uint32_t id) const {
  // acquire: who wrote the entry opened it after that.
  if ((entries_[id].uses.fetch_add(1, std::memory_order_acquire) & NameEntry::kClosed) == 0) {
    return true;
  }
  release(id);
  return false;
}

void NameTable::write(NameEntry* e, uint64_t hash, const char* text, uint64_t size_bytes) {
  char* copy = arena_.at<char>(kTextSection, TextPiece::place(e->piece));
  store_bytes(copy, text, size_bytes);
  store_once(copy + size_bytes, '\0');
  store_once(&e->size_bytes, static_cast<uint32_t>(size_bytes));
  e->hash.store(hash, std::memory_order_relaxed);
}

uint32_t NameTable::make(uint64_t hash, const char* text, uint64_t size_bytes) {
  const uint32_t id = make_new(hash, text, size_bytes);
  return id != kNone ? id : make_anew(hash, text, size_bytes);
}

uint32_t NameTable::make_new(uint64_t hash, const char* text, uint64_t size_bytes) {
  const Section& entries = arena_.section(kNameSection);
  if (entries.used_bytes.load(std::memory_order_relaxed) + sizeof(NameEntry) > entries.capacity_bytes) {
    return kNone;
  }
  const uint64_t room = TextPiece::rounded(size_bytes + 1);
  const uint64_t place = arena_.allocate(kTextSection, room);
  if (place == Arena::kNoOffset) {
    return kNone;
  }
  const uint64_t offset = arena_.allocate(kNameSection, sizeof(NameEntry));
  if (offset == Arena::kNoOffset) {
    return kNone;
  }
  NameEntry* e = arena_.at<NameEntry>(kNameSection, offset);
  e->uses.fetch_add(1, std::memory_order_relaxed);  // held, before it can look like one that nobody uses
  __atomic_store_n(&e->piece, TextPiece::make(place, room), __ATOMIC_RELEASE);
  write(e, hash, text, size_bytes);
  index_.prepare(offset / sizeof(NameEntry));
  return static_cast<uint32_t>(offset / sizeof(NameEntry));
}

// The entry of a name that nobody uses.
uint32_t NameTable::make_anew(uint64_t hash, const char* text, uint64_t size_bytes) {
  const uint64_t entries =
      arena_.section(kNameSection).used_bytes.load(std::memory_order_relaxed) / sizeof(NameEntry);
  std::atomic<uint64_t>& hand = arena_.header().sweep.name_hand;
  for (uint32_t looks = 0; looks < kNameLooks && entries != 0; ++looks) {
    const auto id = static_cast<uint32_t>(hand.fetch_add(1, std::memory_order_relaxed) % entries);
    NameEntry& e = entries_[id];
    uint32_t unused = 0;
    const uint64_t piece = __atomic_load_n(&e.piece, __ATOMIC_ACQUIRE);  // 0: it is being made
    if (e.uses.load(std::memory_order_relaxed) != 0 || TextPiece::room_bytes(piece) <= size_bytes ||
        !e.uses.compare_exchange_strong(unused, NameEntry::kClosed, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
      continue;
    }
    index_.remove(e.hash.load(std::memory_order_relaxed), id);
    write(&e, hash, text, size_bytes);
    e.uses.fetch_add(1 - NameEntry::kClosed, std::memory_order_release);  // open, and held
    return id;
  }
  return kNone;
}

uint32_t NameTable::find_or_make(const char* text, uint64_t size) {
  const uint64_t hash = mix_hash(hash_bytes(text, size));
  uint32_t made = kNone;
  const uint32_t id = index_.find_or_insert(
      hash,
      [&](uint32_t other) {
        const NameEntry& e = entries_[other];
        if (e.hash.load(std::memory_order_relaxed) != hash || !hold(other)) {
          return false;
        }
        if (e.hash.load(std::memory_order_relaxed) == hash && e.size_bytes == size &&
            memcmp(this->text(other), text, size) == 0) {
          return true;  // held
        }
        release(other);
        return false;
      },
      [&] { return made = make(hash, text, size); });
  if (made != kNone && made != id) {
    release(made);  // another thread was faster; the next text that needs an entry takes it
  }
  return id;
}

uint32_t NameTable::intern(const char* text, uint64_t size_bytes) {
  const uint64_t size = size_bytes < kMaxNameBytes ? size_bytes : kMaxNameBytes;
  uint32_t id = find_or_make(text, size);
  for (const uint64_t max : kShortened) {
    if (id != kNone) {
      break;
    }
    count(arena_.header().sweep.shortages);
    if (size > max) {
      char shorter[kShortened[0] + 1];
      const uint64_t kept = cut_at(text, max - kEllipsisBytes);
      memcpy(shorter, text, kept);
      memcpy(shorter + kept, kEllipsis, kEllipsisBytes);
      id = find_or_make(shorter, kept + kEllipsisBytes);
    }
  }
  return id;
}

}  // namespace memprof
