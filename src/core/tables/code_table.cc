// SPDX-License-Identifier: Apache-2.0
#include "core/tables/code_table.h"

#include <cstring>

#include "format/runtime_frame.h"

namespace memprof {
namespace {

// Entries that are looked at for one that is free.
constexpr uint32_t kCodeLooks = 64;

constexpr char kOlderFunctions[] = "[older functions]";

}  // namespace

CodeTable::CodeTable(const Arena& arena, NameTable* names)
    : arena_(arena),
      index_(arena, kCodeIndexSection, &arena.header().code_levels),
      names_(names),
      entries_(arena.at<CodeEntry>(kCodeSection)) {
  static_assert(kReuses - 1 < kUnknownCode >> kEntryBits);
}

uint64_t CodeTable::size() const {
  return arena_.section(kCodeSection).used_bytes.load(std::memory_order_relaxed) / sizeof(CodeEntry);
}

bool CodeTable::hold(uint32_t entry) const {
  // acquire: who wrote the entry opened it after that.
  if ((entries_[entry].uses.fetch_add(1, std::memory_order_acquire) & CodeEntry::kClosed) == 0) {
    return true;
  }
  release(entry);
  return false;
}

// Of an entry that is held.
bool CodeTable::is(uint32_t entry, const Content& c) const {
  const CodeEntry& e = entries_[entry];
  return e.hash.load(std::memory_order_relaxed) == c.hash && e.function == c.function && e.file == c.file &&
         e.first_line == c.first_line && e.runtime == c.runtime && e.lines_bytes == c.lines_bytes &&
         memcmp(arena_.at<uint8_t>(kTextSection, TextPiece::place(e.lines)), c.lines, c.lines_bytes) == 0;
}

void CodeTable::write(CodeEntry* e, const Content& c) const {
  store_bytes(arena_.at<uint8_t>(kTextSection, TextPiece::place(e->lines)), c.lines, c.lines_bytes);
  store_once(&e->lines_bytes, c.lines_bytes);
  store_once(&e->function, c.function);
  store_once(&e->file, c.file);
  store_once(&e->first_line, c.first_line);
  store_once(&e->runtime, static_cast<uint16_t>(c.runtime));
  e->hash.store(c.hash, std::memory_order_release);  // free_entry() acquires
}

uint32_t CodeTable::make(const Content& content) {
  const uint32_t entry = make_new(content);
  return entry != kNone ? entry : make_anew(content);
}

uint32_t CodeTable::make_new(const Content& content) {
  const Section& entries = arena_.section(kCodeSection);
  if (entries.used_bytes.load(std::memory_order_relaxed) + sizeof(CodeEntry) > entries.capacity_bytes) {
    return kNone;
  }
  const uint64_t room = TextPiece::rounded(content.lines_bytes);
  const uint64_t place = arena_.allocate(kTextSection, room);
  if (place == Arena::kNoOffset) {
    return kNone;
  }
  const uint64_t offset = arena_.allocate(kCodeSection, sizeof(CodeEntry));
  if (offset == Arena::kNoOffset) {
    return kNone;
  }
  if (offset == 0) {
    // Kept for intern_older(): when that is called there may be no room for it as it is.
    names_->intern(kOlderFunctions, sizeof(kOlderFunctions) - 1);
  }
  CodeEntry* e = arena_.at<CodeEntry>(kCodeSection, offset);
  e->uses.fetch_add(1, std::memory_order_relaxed);  // held, before it can look like one that nobody uses
  e->lines = TextPiece::make(place, room);
  write(e, content);
  index_.prepare(offset / sizeof(CodeEntry));
  return static_cast<uint32_t>(offset / sizeof(CodeEntry));
}

// The entry of code that no stack names.
uint32_t CodeTable::make_anew(const Content& content) {
  if (arena_.header().sweep.free_codes.load(std::memory_order_relaxed) == 0) {
    return kNone;
  }
  const uint64_t entries = size();
  std::atomic<uint64_t>& hand = arena_.header().sweep.code_hand;
  for (uint32_t looks = 0; looks < kCodeLooks && entries != 0; ++looks) {
    const auto entry = static_cast<uint32_t>(hand.fetch_add(1, std::memory_order_relaxed) % entries);
    CodeEntry& e = entries_[entry];
    uint32_t uses = e.uses.load(std::memory_order_relaxed);
    if ((uses & CodeEntry::kFree) == 0 || TextPiece::room_bytes(e.lines) < content.lines_bytes ||
        !e.uses.compare_exchange_strong(uses, uses & ~CodeEntry::kFree, std::memory_order_acquire,
                                        std::memory_order_relaxed)) {
      continue;
    }
    arena_.header().sweep.free_codes.fetch_sub(1, std::memory_order_relaxed);
    write(&e, content);
    // Open, and held.  Others may be looking whether it is theirs.
    e.uses.fetch_add(1 - CodeEntry::kClosed, std::memory_order_release);
    return entry;
  }
  return kNone;
}

// Of an entry that is held: its id, which is met in this sweep.
uint32_t CodeTable::met(uint32_t entry) const {
  CodeEntry& e = entries_[entry];
  const auto sweep = static_cast<uint32_t>(arena_.header().sweep.number.load(std::memory_order_relaxed)) &
                     CodeEntry::kSweepMask;
  uint32_t uses = e.uses.load(std::memory_order_relaxed);
  while ((uses >> CodeEntry::kSweepShift & CodeEntry::kSweepMask) != sweep &&
         !e.uses.compare_exchange_weak(
             uses,
             (uses & ~(CodeEntry::kSweepMask << CodeEntry::kSweepShift)) | sweep << CodeEntry::kSweepShift,
             std::memory_order_relaxed)) {
  }
  return entry | uint32_t{e.reuse.load(std::memory_order_relaxed)} << kEntryBits;
}

// The names are held by the caller, who gives them away.
uint32_t CodeTable::intern(const Content& content) {
  uint32_t made = kNone;
  const uint32_t entry = index_.find_or_insert(
      content.hash,
      [&](uint32_t other) {
        if (entries_[other].hash.load(std::memory_order_relaxed) != content.hash || !hold(other)) {
          return false;
        }
        if (is(other, content)) {
          return true;  // held
        }
        release(other);
        return false;
      },
      [&] { return made = make(content); });
  if (entry == kNone) {
    return kNone;
  }
  if (made == kNone || made != entry) {
    names_->release(content.function);
    names_->release(content.file);
  }
  if (made != kNone && made != entry) {
    // Another thread was faster.  The names go with the entry that nobody finds, until a sweep frees it.
    names_->hold(content.function);
    names_->hold(content.file);
    release(made);
  }
  const uint32_t id = met(entry);
  release(entry);
  return id;
}

uint32_t CodeTable::intern(const CodeFacts& facts) {
  Content c{};
  c.function = names_->intern(facts.function, facts.function_bytes);
  if (c.function == NameTable::kNone) {
    return kNone;
  }
  c.file = names_->intern(facts.file, facts.file_bytes);
  if (c.file == NameTable::kNone) {
    names_->release(c.function);
    return kNone;
  }
  c.lines = facts.lines;
  c.lines_bytes =
      static_cast<uint32_t>(facts.lines_bytes < kMaxLinesBytes ? facts.lines_bytes : kMaxLinesBytes);
  c.first_line = facts.first_line;
  c.runtime = facts.runtime;
  for (;;) {
    // One after the other: parts that are equal must not cancel each other out.
    c.hash = hash_bytes(c.lines, c.lines_bytes);
    c.hash = mix_hash(c.hash ^ (uint64_t{c.function} << 32 | c.file));
    c.hash = mix_hash(c.hash ^ (uint64_t{c.first_line} << 32 | c.runtime));
    const uint32_t id = intern(c);
    if (id != kNone) {
      return id;
    }
    if (c.lines_bytes == 0) {
      names_->release(c.function);
      names_->release(c.file);
      count(arena_.header().sweep.shortages);
      count(arena_.header().later_statistics.folded_functions);
      return kNone;
    }
    count(arena_.header().sweep.shortages);
    c.lines_bytes = 0;  // without its lines there may be room
  }
}

bool CodeTable::has(uint32_t id) const {
  const uint32_t entry = entry_of(id);
  return runtime_of_unknown(id) == 0 && entry < size() &&
         entries_[entry].reuse.load(std::memory_order_relaxed) == reuse_of(id);
}

bool CodeTable::is_recent(uint32_t entry, uint32_t sweep) const {
  const uint32_t met = entries_[entry].uses.load(std::memory_order_relaxed) >> CodeEntry::kSweepShift;
  return ((sweep - met) & CodeEntry::kSweepMask) <= 1;
}

bool CodeTable::free_entry(uint32_t entry, uint32_t sweep) {
  CodeEntry& e = entries_[entry];
  if (e.hash.load(std::memory_order_acquire) == 0) {
    return false;  // it is being made
  }
  uint32_t uses = e.uses.load(std::memory_order_relaxed);
  if ((uses & (CodeEntry::kClosed | CodeEntry::kUsersMask)) != 0 ||
      (uses >> CodeEntry::kSweepShift & CodeEntry::kSweepMask) == (sweep & CodeEntry::kSweepMask) ||
      !e.uses.compare_exchange_strong(uses, uses | CodeEntry::kClosed, std::memory_order_acquire,
                                      std::memory_order_relaxed)) {
    return false;
  }
  // First of all: from now on nothing that is read of it is believed.
  const uint32_t reuse = e.reuse.load(std::memory_order_relaxed) + 1u;
  e.reuse.store(static_cast<uint16_t>(reuse < kReuses ? reuse : 0), std::memory_order_release);
  index_.remove(e.hash.load(std::memory_order_relaxed), entry);
  names_->release(e.function);
  names_->release(e.file);
  e.uses.fetch_or(CodeEntry::kFree, std::memory_order_release);
  arena_.header().sweep.free_codes.fetch_add(1, std::memory_order_relaxed);
  return true;
}

uint32_t CodeTable::intern_older(uint32_t entry) {
  if (!hold(entry)) {
    return kNone;
  }
  const CodeEntry& e = entries_[entry];
  const uint8_t none = 0;
  const char* const file = names_->text(e.file);
  const uint32_t id = intern(CodeFacts{kOlderFunctions, sizeof(kOlderFunctions) - 1, file,
                                       static_cast<uint32_t>(strlen(file)), &none, 0, 0, e.runtime});
  release(entry);
  return id;
}

}  // namespace memprof
