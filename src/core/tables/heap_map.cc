// SPDX-License-Identifier: Apache-2.0
#include "core/tables/heap_map.h"

namespace memprof {
namespace {

constexpr uint64_t kEmpty = 0;
constexpr uint64_t kBusy = 1;

// Of a record that is being erased: all bits.
constexpr uint64_t kNoRateWord = UINT64_MAX;
constexpr uint64_t kNoRate = RateWord::kMask;

uint32_t generation_of(const LiveRecord& record) {
  // acquire pairs with the release in insert_into
  return StackWord::generation_of(record.stack.load(std::memory_order_acquire));
}

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
  if (generation_of(*record) == generation) {
    return true;
  }
  expected = to;  // another record, with the same in this field, has come to this slot: not this one
  field->compare_exchange_strong(expected, from, std::memory_order_acq_rel, std::memory_order_relaxed);
  return false;
}

constexpr uint32_t kHeapLooks = 64;

// In the time of a record, which has no use for it: is its block at a realloc?
constexpr uint64_t kMovingBit = uint64_t{1} << 63;

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

// A code is this, how far digits are shifted, and the digits.
constexpr uint32_t kHasRate = uint32_t{1} << 31;
constexpr uint32_t kRateDigits = 25;

}  // namespace

uint32_t FirstRate::code(uint64_t rate_bytes) {
  uint32_t shift = 0;
  for (; rate_bytes >> kRateDigits != 0 && (rate_bytes & 1) == 0; rate_bytes >>= 1) {
    ++shift;
  }
  return rate_bytes >> kRateDigits != 0 ? kNone
                                        : kHasRate | shift << kRateDigits | static_cast<uint32_t>(rate_bytes);
}

uint64_t FirstRate::rate_bytes(uint32_t code) {
  return uint64_t{code & ((uint32_t{1} << kRateDigits) - 1)} << ((code & ~kHasRate) >> kRateDigits);
}

uint32_t ResidentShare::code(float share) {
  if (!(share >= 0)) {
    return kUnknown;
  }
  constexpr float kSteps = kMax - 1;
  const auto steps = static_cast<uint32_t>((share < 1 ? share : 1) * kSteps + 0.5F);
  return 1 + (steps == 0 && share > 0 ? 1 : steps);
}

float ResidentShare::share(uint32_t code) {
  return code == kUnknown || code > kMax ? -1 : static_cast<float>(code - 1) / (kMax - 1);
}

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
    LiveRecord& record = *slot.record;
    // All release: pair with the acquire loads in read().
    const uint32_t generation = StackWord::generation_of(record.stack.load(std::memory_order_relaxed)) + 1;
    record.stack.store(StackWord::word(generation, sample.stack_id), std::memory_order_release);
    record.thread_id.store(ResidentShare::word(sample.thread_id, sample.resident), std::memory_order_release);
    record.first_rate.store(FirstRate::kNone, std::memory_order_release);
    record.size_bytes.store(sample.size_bytes, std::memory_order_release);
    record.rate.store(RateWord::word(generation, sample.rate_bytes), std::memory_order_release);
    record.time_ns.store(sample.time_ns, std::memory_order_release);
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
          return {slots_before(level) + first + i, generation_of(bucket.record[i])};
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
  if (generation_of(*slot.record) != token.generation) {
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
  if (generation_of(record) != token.generation) {
    slot.key->store(address, std::memory_order_release);  // a successor at the same address: leave it
    return false;
  }
  const uint64_t rate = record.rate.exchange(kNoRateWord, std::memory_order_acq_rel);
  const uint64_t stack =
      record.stack.exchange(StackWord::word(token.generation, kNoStack), std::memory_order_acq_rel);
  const uint64_t time_ns = record.time_ns.load(std::memory_order_relaxed);
  *erased = {address,
             record.size_bytes.load(std::memory_order_relaxed),
             RateWord::rate_of(rate),
             time_ns & ~kMovingBit,
             StackWord::stack_of(stack),
             ResidentShare::thread_of(record.thread_id.load(std::memory_order_relaxed)),
             0,
             (time_ns & kMovingBit) != 0};
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
  *token = {slot, generation_of(*s.record)};
  return read(*s.key, *s.record, sample) && (sample->address & kKeptBits) == 0 &&
         generation_of(*s.record) == token->generation;
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
  const uint64_t time_ns = record.time_ns.load(std::memory_order_acquire) & ~kMovingBit;
  change(&record, token.generation, &record.time_ns, time_ns, time_ns | kMovingBit);
}

void HeapMap::end_move(Token token) const {
  LiveRecord& record = *slot_at(token.slot).record;
  const uint64_t time_ns = record.time_ns.load(std::memory_order_acquire) & ~kMovingBit;
  change(&record, token.generation, &record.time_ns, time_ns | kMovingBit, time_ns);
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
  const uint32_t generation = generation_of(record);
  const uint32_t word = record.thread_id.load(std::memory_order_acquire);
  *sample = {address,
             record.size_bytes.load(std::memory_order_acquire),
             RateWord::rate_of(record.rate.load(std::memory_order_acquire)),
             record.time_ns.load(std::memory_order_acquire) & ~kMovingBit,
             StackWord::stack_of(record.stack.load(std::memory_order_acquire)),
             ResidentShare::thread_of(word),
             ResidentShare::code_of(word)};
  return sample->rate_bytes != kNoRate && sample->stack_id != kNoStack &&
         generation_of(record) == generation && key.load(std::memory_order_relaxed) == address;
}

}  // namespace memprof
