// SPDX-License-Identifier: Apache-2.0
#include "core/tables/heap_map.h"

namespace memprof {
namespace {

constexpr uint64_t kEmpty = 0;
constexpr uint64_t kBusy = 1;

// Of a record that is being erased: all bits.
constexpr uint64_t kNoRateWord = UINT64_MAX;
constexpr uint64_t kNoRate = RateWord::kMask;

bool change(std::atomic<uint64_t>* word, uint64_t from, uint64_t to) {
  return word->compare_exchange_strong(from, to, std::memory_order_acq_rel, std::memory_order_relaxed);
}

// Of a field that has no generation with it.  false: the record is gone, perhaps since: who needs to know whether
// it was changed before that needs the generation in the same word.
template <typename Word>
bool change(LiveRecord* record, uint32_t generation, std::atomic<Word>* field, Word from, Word to) {
  Word expected = from;
  if (!field->compare_exchange_strong(expected, to, std::memory_order_acq_rel, std::memory_order_relaxed)) {
    return false;
  }
  if (record->generation() == generation) {
    return true;
  }
  expected = to;  // another record, with the same in this field, has come to this slot: not this one
  field->compare_exchange_strong(expected, from, std::memory_order_acq_rel, std::memory_order_relaxed);
  return false;
}

constexpr uint32_t kHeapLooks = 64;

// Levels beyond are opened only when there are thousands of samples.
constexpr uint32_t kPrefetchedLevels = 3;

uint64_t hash_of(uint64_t address) {
  return mix_hash(address);
}

// The bucket of a key: its first slot, counted within the level.
uint64_t bucket_of(uint64_t hash, uint32_t level) {
  return bucket_slot(hash, level) - slots_before(level);
}

// The slots of a bucket that a key may be in, its home first.  The home comes from bits that do not choose the bucket.
uint64_t nth_of_bucket(uint64_t hash, uint32_t n) {
  return (hash + n) % kBucketSlots;
}

}  // namespace

uint32_t live_levels_for(uint64_t max_live_samples) {
  return levels_for_keys(max_live_samples);
}

HeapMap::Slot HeapMap::slot_at(uint32_t level, uint64_t slot_in_level) const {
  const uint64_t keys = live_level_offset(level);
  const uint64_t records = keys + level_slots(level) * sizeof(uint64_t);
  return {reinterpret_cast<std::atomic<uint64_t>*>(section_ + keys) + slot_in_level,
          reinterpret_cast<LiveRecord*>(section_ + records) + slot_in_level};
}

HeapMap::Slot HeapMap::slot_at(uint64_t slot) const {
  const auto level = static_cast<uint32_t>(63 - __builtin_clzll(slot / kFirstLevelSlots + 1));
  return slot_at(level, slot - slots_before(level));
}

bool HeapMap::open_level(uint32_t level) {
  LevelsHead& head = arena_.header().live_levels;
  if (level >= head.limit || !arena_.commit_up_to(kLiveSection, live_level_offset(level + 1))) {
    return false;
  }
  uint32_t expected = level;
  // release pairs with the acquire loads of `open` below.  Losing the race means that it is open.
  head.open.compare_exchange_strong(expected, level + 1, std::memory_order_release,
                                    std::memory_order_relaxed);
  return true;
}

void HeapMap::open_for(uint64_t samples) {
  const std::atomic<uint32_t>& open = arena_.header().live_levels.open;
  for (uint32_t level = open.load(std::memory_order_acquire);
       level < live_levels_for(samples) && open_level(level); ++level) {
  }
}

void HeapMap::prefetch(uint64_t address) const {
  const uint64_t hash = hash_of(address);
  const uint32_t open = arena_.header().live_levels.open.load(std::memory_order_relaxed);
  for (uint32_t level = 0; level < open && level < kPrefetchedLevels; ++level) {
    const Slot home = slot_at(level, bucket_of(hash, level) + nth_of_bucket(hash, 0));
    __builtin_prefetch(home.key, 1);
    __builtin_prefetch(home.record, 1);  // where it crosses a line, the next one comes with it
  }
  for (uint32_t level = kPrefetchedLevels; level < open; ++level) {
    __builtin_prefetch(slot_at(level, bucket_of(hash, level)).key);
  }
}

bool HeapMap::insert_into(uint32_t level, uint64_t hash, const LiveSample& sample) {
  const Slot bucket = slot_at(level, bucket_of(hash, level));
  for (uint32_t i = 0; i < kBucketSlots; ++i) {
    const uint64_t at = nth_of_bucket(hash, i);
    const Slot slot{bucket.key + at, bucket.record + at};
    uint64_t expected = kEmpty;
    // acquire pairs with the release of the erase that emptied the slot.
    if (slot.key->load(std::memory_order_relaxed) != kEmpty ||
        !slot.key->compare_exchange_strong(expected, kBusy, std::memory_order_acquire,
                                           std::memory_order_relaxed)) {
      continue;
    }
    slot.record->store(sample);
    slot.key->store(sample.address, std::memory_order_release);
    return true;
  }
  return false;
}

bool HeapMap::insert(const LiveSample& sample) {
  ArenaHeader& header = arena_.header();
  const uint64_t before = header.live_count.fetch_add(1, std::memory_order_relaxed);
  if (before < header.limits.max_live_samples) {
    const uint32_t open = header.live_levels.open.load(std::memory_order_relaxed);
    if (__builtin_expect(is_next_level_near(before, open) && open < header.live_levels.limit, 0)) {
      arena_.commit_next(kLiveSection, live_level_offset(open + 1));
    }
    const uint64_t hash = hash_of(sample.address);
    for (uint32_t level = 0;; ++level) {
      if (level >= header.live_levels.open.load(std::memory_order_acquire) && !open_level(level)) {
        break;
      }
      if (insert_into(level, hash, sample)) {
        return true;
      }
    }
  }
  header.live_count.fetch_sub(1, std::memory_order_relaxed);
  return false;
}

HeapMap::Token HeapMap::find(uint64_t address) const {
  if (address <= kBusy) {
    return {};
  }
  const uint64_t hash = hash_of(address);
  // An erase that comes late has the key of a successor for a moment (there): looked for again, a bounded number of times.
  for (uint32_t look = 0; look < kHeapLooks; ++look) {
    bool is_one_busy = false;
    // The last levels first: of a table that grew, they have most of the keys.
    for (uint32_t level = arena_.header().live_levels.open.load(std::memory_order_acquire); level-- > 0;) {
      const uint64_t first = bucket_of(hash, level);
      const Slot bucket = slot_at(level, first);
      for (uint32_t i = 0; i < kBucketSlots; ++i) {
        // acquire pairs with the release in insert_into
        const uint64_t key = bucket.key[i].load(std::memory_order_acquire);
        if (key == address) {
          return {slots_before(level) + first + i, bucket.record[i].generation()};
        }
        is_one_busy = is_one_busy || key == kBusy;
      }
    }
    if (!is_one_busy) {
      break;
    }
  }
  return {};
}

bool HeapMap::erase(uint64_t address, Token token, LiveSample* erased, const KeptFrom& kept) {
  if (!token) {
    return false;
  }
  const Slot slot = slot_at(token.slot);
  // Asked before the slot is touched: while it is, the successor's own free would not find it.
  if (slot.record->generation() != token.generation) {
    return false;
  }
  uint64_t expected = address;
  for (uint32_t look = 1; !slot.key->compare_exchange_strong(expected, kBusy, std::memory_order_acquire,
                                                             std::memory_order_relaxed);
       ++look) {
    if (expected != kBusy || look == kHeapLooks) {
      return false;
    }
    expected = address;
  }
  LiveRecord& record = *slot.record;
  if (record.generation() != token.generation) {
    slot.key->store(address, std::memory_order_release);  // a successor at the same address: leave it
    return false;
  }
  const uint64_t rate = record.rate.exchange(kNoRateWord, std::memory_order_acq_rel);
  const uint64_t stack =
      record.stack.exchange(StackWord::word(token.generation, kNoStack), std::memory_order_acq_rel);
  *erased = record.load(address, stack, rate);
  if (is_kept(*erased, kept)) {
    record.stack.store(stack, std::memory_order_release);
    record.rate.store(rate, std::memory_order_release);
  }
  // release pairs with the acquire exchange in insert_into.
  slot.key->store(is_kept(*erased, kept) ? address | kept.bit : kEmpty, std::memory_order_release);
  arena_.header().live_count.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

uint64_t HeapMap::slots() const {
  return slots_before(arena_.header().live_levels.open.load(std::memory_order_acquire));
}

bool HeapMap::read_slot(uint64_t slot, LiveSample* sample, Token* token) const {
  const Slot s = slot_at(slot);
  *token = {slot, s.record->generation()};
  return read(*s.key, *s.record, sample) && (sample->address & kKeptBits) == 0 &&
         s.record->generation() == token->generation;
}

void HeapMap::peek_stacks(uint64_t first_slot, uint32_t count, uint32_t* stacks) const {
  const Slot first = slot_at(first_slot);
  for (uint32_t i = 0; i < count; ++i) {
    stacks[i] = first.key[i].load(std::memory_order_relaxed) > kBusy
                    ? StackWord::stack_of(first.record[i].stack.load(std::memory_order_relaxed))
                    : kNoStack;
  }
}

bool HeapMap::change_rate(Token token, uint64_t from, uint64_t to) const {
  return change(&slot_at(token.slot).record->rate, RateWord::word(token.generation, from),
                RateWord::word(token.generation, to));
}

void HeapMap::begin_move(Token token) const {
  LiveRecord& record = *slot_at(token.slot).record;
  const uint64_t time_ns = TimeWord::time_of(record.time_ns.load(std::memory_order_acquire));
  change(&record, token.generation, &record.time_ns, time_ns, time_ns | TimeWord::kMovingBit);
}

void HeapMap::end_move(Token token) const {
  LiveRecord& record = *slot_at(token.slot).record;
  const uint64_t time_ns = TimeWord::time_of(record.time_ns.load(std::memory_order_acquire));
  change(&record, token.generation, &record.time_ns, time_ns | TimeWord::kMovingBit, time_ns);
}

uint64_t HeapMap::first_rate(Token token, const LiveSample& sample) const {
  const uint32_t code = slot_at(token.slot).record->first_rate.load(std::memory_order_acquire);
  return code == FirstRate::kNone ? sample.rate_bytes : FirstRate::rate_bytes(code);
}

bool HeapMap::keep_first_rate(Token token, const LiveSample& sample) const {
  LiveRecord& record = *slot_at(token.slot).record;
  const uint32_t code = FirstRate::code(sample.rate_bytes);
  return record.first_rate.load(std::memory_order_acquire) != FirstRate::kNone ||
         (code != FirstRate::kNone &&
          change(&record, token.generation, &record.first_rate, FirstRate::kNone, code));
}

bool HeapMap::change_stack(Token token, uint32_t from, uint32_t to) const {
  return change(&slot_at(token.slot).record->stack, StackWord::word(token.generation, from),
                StackWord::word(token.generation, to));
}

bool HeapMap::set_resident(uint64_t address, uint32_t code) const {
  const Token token = find(address);
  if (!token) {
    return false;
  }
  LiveRecord& record = *slot_at(token.slot).record;
  const uint32_t word = record.thread_id.load(std::memory_order_acquire);
  return change(&record, token.generation, &record.thread_id, word, ResidentShare::word(word, code));
}

bool HeapMap::next_between(uint64_t first, uint64_t last, uint64_t* slot, uint64_t* address) const {
  uint32_t level = 0;
  for (const uint64_t end = slots(); *slot < end; ++*slot) {
    while (slots_before(level + 1) <= *slot) {
      ++level;
    }
    const uint64_t key = slot_at(level, *slot - slots_before(level)).key->load(std::memory_order_relaxed);
    if (key > kBusy && first <= key && key <= last) {
      *address = key;
      ++*slot;
      return true;
    }
  }
  return false;
}

bool HeapMap::read(const std::atomic<uint64_t>& key, const LiveRecord& record, LiveSample* sample) {
  const uint64_t address = key.load(std::memory_order_acquire);
  if (address == kEmpty || address == kBusy) {
    return false;
  }
  const uint32_t generation = record.generation();
  // acquire pairs with the release in LiveRecord::store() and with the exchanges of erase().
  const uint64_t rate = record.rate.load(std::memory_order_acquire);
  *sample = record.load(address, record.stack.load(std::memory_order_acquire), rate);
  return sample->rate_bytes != kNoRate && sample->stack_id != kNoStack && record.generation() == generation &&
         key.load(std::memory_order_relaxed) == address;
}

}  // namespace memprof
