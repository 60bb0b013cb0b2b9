// SPDX-License-Identifier: Apache-2.0
#include "core/engine/thinning.h"

#include "core/engine/live_samples.h"
#include "core/engine/ownership.h"
#include "core/rates/rates.h"
#include "core/sampling/sampler.h"

namespace memprof::profiler {
namespace {

// Samples that a new rate is chosen by.
constexpr uint32_t kMaxAsked = 32;
// How many slots are looked at for them.
constexpr uint32_t kMaxSlotsAsked = 256;
// Live samples that an event moves from stacks that leave, and at most those of a range more.
constexpr uint32_t kMaxMoves = 16;

double kept_share(uint64_t size_bytes, uint64_t old_rate, uint64_t new_rate) {
  return weigh(size_bytes, new_rate).probability / weigh(size_bytes, old_rate).probability;
}

// The least doubling of the rate in force by which half of the samples go, as far as a few of them tell.
uint64_t choose_rate(uint64_t slots) {
  struct {
    uint64_t size_bytes;
    uint64_t rate_bytes;
  } asked[kMaxAsked];
  uint32_t found = 0;
  const uint64_t step = slots / kMaxSlotsAsked + 1;
  for (uint64_t slot = 0; slot < slots && found < kMaxAsked; slot += step) {
    LiveSample sample;
    HeapMap::Token token;
    if (g_live.read_slot(slot, &sample, &token)) {
      asked[found++] = {sample.size_bytes, sample.rate_bytes};
    }
  }
  static_assert(2 * kMaxRateBytes <= RateWord::kMask + 1);
  uint64_t rate = sampler_rate() < 8 ? 8 : sampler_rate();
  for (double kept = found; found != 0 && kept > 0.5 * found && rate < kMaxRateBytes;) {
    rate *= 2;
    kept = 0;
    for (uint32_t i = 0; i < found; ++i) {
      kept += rate > asked[i].rate_bytes ? kept_share(asked[i].size_bytes, asked[i].rate_bytes, rate) : 1;
    }
  }
  return rate;
}

void thin_slot(uint64_t slot, uint64_t rate, uint64_t now_ns) {
  LiveSample sample;
  HeapMap::Token token;
  if (!g_live.read_slot(slot, &sample, &token) || sample.rate_bytes >= rate) {
    return;
  }
  // Not what deals samples to the halves of the peak.
  const double uniform = uniform_of(
      mix_hash(sample.address ^ mix_hash(sample.time_ns ^ mix_hash(g_arena.header().peak.seed + rate))));
  if (uniform >= kept_share(sample.size_bytes, sample.rate_bytes, rate)) {
    LiveSample thinned;
    if (take(sample.address, token, &thinned)) {
      count(g_arena.header().later_statistics.thinned_samples);
      account_thinned(thinned, now_ns);
    }
    return;
  }
  // Held: its block may be freed as soon as the rate has changed.
  if (!g_stacks.hold_ref(sample.stack_id)) {
    return;
  }
  LiveSample now = sample;
  now.rate_bytes = rate;
  const bool is_first_kept = g_live.keep_first_rate(token, sample);
  if (g_live.change_rate(token, sample.rate_bytes, rate)) {
    account_new_rate(sample, now, is_first_kept, now_ns);
  }
  g_stacks.release(stack_id_of(sample.stack_id));
}

// true: there was something to do.
bool move_slot(uint64_t slot) {
  LiveSample sample;
  HeapMap::Token token;
  if (!g_live.read_slot(slot, &sample, &token) || !g_stacks.is_leaving(sample.stack_id) ||
      !g_stacks.hold_ref(sample.stack_id)) {
    return false;
  }
  const uint32_t from = stack_id_of(sample.stack_id);
  const uint32_t to = g_stacks.intern_shorter_than(from);
  if (to == StackTable::kNone) {
    g_stacks.release(from);
    return true;
  }
  const uint64_t first_rate = g_live.first_rate(token, sample);
  // Held twice: for the record, and until the sums are there.
  const bool is_held = g_stacks.hold_ref(g_stacks.ref(to));
  if (is_held && g_live.change_stack(token, sample.stack_id, g_stacks.ref(to))) {
    account_moved(sample, first_rate, to);
    g_stacks.release(from);  // the record's
  } else {
    g_stacks.release(to);
  }
  if (is_held) {
    g_stacks.release(to);
  }
  g_stacks.release(from);
  return true;
}

// One thread at a time changes a sample that others may free: a rate and a stack that change at once would be
// in no sum together.  Who finds a range taken leaves it as it is.  A thread that never came back (siglongjmp
// out of a handler) has had its time.
class Tending {
 public:
  Tending(uint64_t first_slot, uint64_t now_ns)
      : since_(g_arena.header().thin.tended_ns[first_slot / kThinSlots % ThinState::kRanges]),
        now_ns_(now_ns) {
    constexpr uint64_t kLongestNs = 1000000000;
    uint64_t held = since_.load(std::memory_order_relaxed);
    is_ours_ =
        (held == 0 || (now_ns > held && now_ns - held > kLongestNs)) &&
        since_.compare_exchange_strong(held, now_ns, std::memory_order_acquire, std::memory_order_relaxed);
  }
  ~Tending() {
    uint64_t held = now_ns_;
    if (is_ours_) {
      since_.compare_exchange_strong(held, 0, std::memory_order_release, std::memory_order_relaxed);
    }
  }
  Tending(const Tending&) = delete;
  Tending& operator=(const Tending&) = delete;
  explicit operator bool() const { return is_ours_; }

 private:
  std::atomic<uint64_t>& since_;
  uint64_t now_ns_;
  bool is_ours_;
};

template <typename Tend>
void tend_range(uint64_t first, uint64_t end, uint64_t now_ns, const Tend& tend) {
  if (const Tending tending{first, now_ns}) {
    for (uint64_t slot = first; slot < first + kThinSlots && slot < end; ++slot) {
      tend(slot);
    }
  }
}

// Does one of the samples of a range have a stack that leaves?  Asks memory for all of them at once.
bool has_leaving(uint64_t first_slot) {
  static_assert(kFirstLevelSlots % kThinSlots == 0);  // all in one level
  uint32_t stacks[kThinSlots];
  g_live.peek_stacks(first_slot, kThinSlots, stacks);
  for (const uint32_t stack : stacks) {
    if (stack != HeapMap::kNoStack) {
      g_stacks.prefetch_uses(stack);
    }
  }
  for (const uint32_t stack : stacks) {
    if (stack != HeapMap::kNoStack && g_stacks.is_leaving(stack)) {
      return true;
    }
  }
  return false;
}

void move_some(uint64_t now_ns) {
  const uint64_t slots = g_live.slots();
  std::atomic<uint64_t>& hand = g_arena.header().fold.live_hand;
  uint32_t moved = 0;
  for (uint32_t i = 0; i < kMoveSlots / kThinSlots && slots != 0 && moved < kMaxMoves; ++i) {
    const uint64_t first = hand.fetch_add(kThinSlots, std::memory_order_relaxed) % slots;
    if (has_leaving(first)) {
      tend_range(first, slots, now_ns, [&moved](uint64_t slot) { moved += move_slot(slot); });
    }
  }
}

void thin_some(uint64_t now_ns) {
  ThinState& state = g_arena.header().thin;
  const uint64_t end = state.end.load(std::memory_order_relaxed);
  const uint64_t rate = state.rate_bytes.load(std::memory_order_relaxed);
  const uint64_t first = state.hand.fetch_add(kThinSlots, std::memory_order_relaxed);
  tend_range(first, end, now_ns, [=](uint64_t slot) { thin_slot(slot, rate, now_ns); });
}

}  // namespace

void thin_live_samples(uint64_t now_ns) {
  ArenaHeader& header = g_arena.header();
  ThinState& state = header.thin;
  if (__builtin_expect(header.fold.live_hand.load(std::memory_order_relaxed) <
                           header.leaving.move_until.load(std::memory_order_relaxed),
                       0)) {
    move_some(now_ns);
  }
  if (__builtin_expect(state.hand.load(std::memory_order_relaxed) < state.end.load(std::memory_order_relaxed),
                       0)) {
    return thin_some(now_ns);
  }
  const uint64_t max = header.limits.max_live_samples;
  const uint64_t live = g_live.size();
  if (__builtin_expect(live > max - max / 8, 0)) {
    // Whoever changes the count of thinnings begins the next one.
    uint64_t thinnings = state.thinnings.load(std::memory_order_relaxed);
    if (state.hand.load(std::memory_order_relaxed) < state.end.load(std::memory_order_relaxed) ||
        !state.thinnings.compare_exchange_strong(thinnings, thinnings + 1, std::memory_order_relaxed)) {
      return;
    }
    const uint64_t slots = g_live.slots();
    rates::raise(&header, choose_rate(slots), now_ns);
    state.hand.store(0, std::memory_order_relaxed);
    state.end.store(slots, std::memory_order_relaxed);
  } else if (__builtin_expect(
                 live < max / 16 && state.rate_before.load(std::memory_order_relaxed) != ThinState::kNone,
                 0)) {
    rates::fall_back(&header, now_ns);
  }
}

}  // namespace memprof::profiler
