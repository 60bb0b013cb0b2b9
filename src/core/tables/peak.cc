// SPDX-License-Identifier: Apache-2.0
#include "core/tables/peak.h"

#include "core/tables/stack_table.h"
#include "platform/memory.h"

namespace memprof {
namespace {

// By what part the peak has to grow before resident memory is asked for again: when it closes, and while it
// rises, for a process that is killed before it closes. That costs 3 us, some 200 times up to a heap of 1 GiB.
constexpr uint64_t kResidentShare = 64;
constexpr uint64_t kRisingShare = 32;
constexpr uint64_t kRisingBytes = 256 << 10;

// In PeakState::resident_at_bytes: asked while the heap rose, when the latest block was not yet written to.
constexpr uint64_t kAskedInRise = uint64_t{1} << 63;

void copy(const PeakSums& from, PeakSums* to) {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  to->samples.store(from.samples.load(kRelaxed), kRelaxed);
  to->size_bytes.store(from.size_bytes.load(kRelaxed), kRelaxed);
  to->weight_bytes.store(from.weight_bytes.load(kRelaxed), kRelaxed);
  to->weight_count.store(from.weight_count.load(kRelaxed), kRelaxed);
  to->variance_bytes.store(from.variance_bytes.load(kRelaxed), kRelaxed);
  to->variance_count.store(from.variance_count.load(kRelaxed), kRelaxed);
}

}  // namespace

// With q = e^(-s/2R), a block has a point of one half's clock with probability 1 - q.  Of the blocks that
// have a point at all (1 - q^2) those of one half only are q (1 - q), of both (1 - q)^2.
PeakShare peak_share(const SampleFields& sample, uint64_t seed) {
  const uint64_t rate = sample.rate_bytes <= 1 ? sample.rate_bytes : 2 * sample.rate_bytes;
  const Weight weight = weigh(sample.size_bytes, rate);
  const double q = 1.0 - weight.probability;
  const double only_one = q / (1.0 + q);
  // What a record keeps for its life decides, so that its free decides the same.
  const double uniform =
      uniform_of(mix_hash(reported::address_of(sample.address) ^ mix_hash(sample.time_ns ^ mix_hash(seed))));
  return {uniform >= only_one, uniform < 1.0 - only_one, weight};
}

PeakTable::PeakTable(const Arena& arena) : arena_(arena), entries_(arena.at<StackPeak>(kPeakSection)) {}

bool PeakTable::reserve(const Arena& arena, uint32_t stack_id) {
  return arena.use_up_to(kPeakSection, (uint64_t{stack_id} + 1) * sizeof(StackPeak));
}

// Before the sums of a stack change: what they were when the peak closed.
void PeakTable::keep(StackPeak* peak) const {
  const uint64_t climb = state().climb.load(std::memory_order_relaxed);
  uint64_t claimed = peak->claimed_climb.load(std::memory_order_relaxed);
  if (!is_peak_open(climb) && claimed != climb &&
      peak->claimed_climb.compare_exchange_strong(claimed, climb, std::memory_order_acq_rel,
                                                  std::memory_order_relaxed)) {
    copy(peak->now, &peak->copy);
    peak->copied_climb.store(climb, std::memory_order_release);  // pairs with the acquire in sums_at_peak
  }
}

void PeakTable::rise(uint64_t to_bytes, uint64_t time_ns) const {
  PeakState& s = state();
  raise(s.highest_bytes, to_bytes);
  s.time_ns.store(time_ns, std::memory_order_relaxed);
  uint64_t climb = s.climb.load(std::memory_order_relaxed);
  if (!is_peak_open(climb)) {
    s.climb.compare_exchange_strong(climb, climb + 1, std::memory_order_relaxed);
  }
  const uint64_t known = s.resident_at_bytes.load(std::memory_order_relaxed) & ~kAskedInRise;
  const uint64_t step = known / kRisingShare > kRisingBytes ? known / kRisingShare : kRisingBytes;
  if (to_bytes >= known + step) {
    note_resident(true);
    // After a large block, once more at the next rise: by then it may have been written to.
    const uint64_t next = to_bytes - known > 2 * step ? to_bytes - step : to_bytes;
    s.resident_at_bytes.store(next | kAskedInRise, std::memory_order_relaxed);
  }
}

void PeakTable::fall(uint64_t to_bytes, uint64_t now_ns) const {
  PeakState& s = state();
  uint64_t climb = s.climb.load(std::memory_order_relaxed);
  const uint64_t highest = s.highest_bytes.load(std::memory_order_relaxed);
  if (!is_peak_open(climb) || to_bytes >= highest) {
    return;
  }
  const uint64_t known = s.resident_at_bytes.load(std::memory_order_relaxed);
  if ((known & kAskedInRise) != 0 || highest >= known + known / kResidentShare) {
    note_resident(true);
  }
  s.closed_ns.store(now_ns, std::memory_order_relaxed);
  s.climb.compare_exchange_strong(climb, climb + 1, std::memory_order_relaxed);
}

void PeakTable::note_resident(bool is_at_peak) const {
  PeakState& s = state();
  uint64_t max = 0;
  uint64_t files = 0;
  const uint64_t now = platform::resident_bytes(&max, &files);
  if (now != 0) {
    raise(s.max_resident_bytes, max);
  }
  if (is_at_peak) {
    CountedState& counted = arena_.header().counted;
    uint64_t free = 0;
    for (const CountedAllocator& a : counted.allocators) {
      free +=
          a.time_ns.load(std::memory_order_relaxed) != 0 ? a.free_bytes.load(std::memory_order_relaxed) : 0;
    }
    counted.peak_files_bytes.store(files, std::memory_order_relaxed);
    counted.peak_free_bytes.store(free, std::memory_order_relaxed);
    s.resident_bytes.store(now, std::memory_order_relaxed);
    s.resident_at_bytes.store(s.highest_bytes.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
}

void PeakTable::note_end() const {
  note_resident(is_peak_open(state().climb.load(std::memory_order_relaxed)));
}

// The sums that a reader finds are never of fewer samples than it counts: weights come before the number, and
// go after it.
void PeakTable::count_in(uint32_t stack, uint64_t size_bytes, const Weight& w) const {
  StackPeak& peak = entries_[stack];
  keep(&peak);
  const double missed = 1.0 - w.probability;
  memprof::add(peak.now.weight_bytes, w.bytes);
  memprof::add(peak.now.weight_count, w.count);
  if (w.missed > 0.0) {
    memprof::add(peak.now.variance_bytes, missed * w.bytes * w.bytes);
    memprof::add(peak.now.variance_count, missed * w.count * w.count);
    raise(peak.max_missed_bytes, w.missed_bytes());
    raise(peak.max_missed_count, w.missed);
  }
  count(peak.now.size_bytes, size_bytes);
  count(peak.now.samples);
}

void PeakTable::count_out(uint32_t stack, uint64_t size_bytes, const Weight& w) const {
  StackPeak& peak = entries_[stack];
  keep(&peak);
  peak.now.samples.fetch_sub(1, std::memory_order_relaxed);
  peak.now.size_bytes.fetch_sub(size_bytes, std::memory_order_relaxed);
  const double missed = 1.0 - w.probability;
  memprof::add(peak.now.weight_bytes, -w.bytes);
  memprof::add(peak.now.weight_count, -w.count);
  if (missed > 0.0) {
    memprof::add(peak.now.variance_bytes, -missed * w.bytes * w.bytes);
    memprof::add(peak.now.variance_count, -missed * w.count * w.count);
  }
}

void PeakTable::move(const LiveSample& sample, uint32_t to) const {
  const PeakShare share = peak_share(sample, state().seed);
  if (share.counts) {
    count_in(to, sample.size_bytes, share.weight);
    count_out(stack_id_of(sample.stack_id), sample.size_bytes, share.weight);
  }
}

void PeakTable::add(const LiveSample& sample) const {
  const PeakShare share = peak_share(sample, state().seed);
  const Weight& w = share.weight;
  if (share.counts) {
    count_in(stack_id_of(sample.stack_id), sample.size_bytes, w);
  }
  if (share.chooses) {
    const uint64_t bytes = rounded_bytes(w);
    const uint64_t now = state().chooser_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (now > state().highest_bytes.load(std::memory_order_relaxed)) {
      rise(now, sample.time_ns);
    }
  }
}

void PeakTable::take(const LiveSample& sample, uint64_t now_ns) const {
  const PeakShare share = peak_share(sample, state().seed);
  const Weight& w = share.weight;
  if (share.chooses) {
    const uint64_t bytes = rounded_bytes(w);
    fall(state().chooser_bytes.fetch_sub(bytes, std::memory_order_relaxed) - bytes, now_ns);
  }
  if (share.counts) {
    count_out(stack_id_of(sample.stack_id), sample.size_bytes, w);
  }
}

void PeakTable::fold(uint32_t from, uint32_t to) const {
  constexpr auto kRelaxed = std::memory_order_relaxed;
  StackPeak& a = entries_[from];
  StackPeak& b = entries_[to];
  const uint64_t climb = state().climb.load(kRelaxed);
  // acquire pairs with the release in keep().
  if (!is_peak_open(climb) && a.copied_climb.load(std::memory_order_acquire) == climb) {
    keep(&b);
    memprof::add(b.copy.weight_bytes, a.copy.weight_bytes.load(kRelaxed));
    memprof::add(b.copy.weight_count, a.copy.weight_count.load(kRelaxed));
    memprof::add(b.copy.variance_bytes, a.copy.variance_bytes.load(kRelaxed));
    memprof::add(b.copy.variance_count, a.copy.variance_count.load(kRelaxed));
    count(b.copy.size_bytes, a.copy.size_bytes.load(kRelaxed));
    count(b.copy.samples, a.copy.samples.load(kRelaxed));
  }
  raise(b.max_missed_bytes, a.max_missed_bytes.exchange(0, kRelaxed));
  raise(b.max_missed_count, a.max_missed_count.exchange(0, kRelaxed));
  copy(PeakSums{}, &a.now);  // what rounding left
  copy(PeakSums{}, &a.copy);
}

void PeakTable::reset(uint64_t now_ns) const {
  PeakState& s = state();
  s.highest_bytes.store(0, std::memory_order_relaxed);
  s.resident_at_bytes.store(0, std::memory_order_relaxed);
  rise(s.chooser_bytes.load(std::memory_order_relaxed), now_ns);
}

const PeakSums& sums_at_peak(const StackPeak& entry, uint64_t climb) {
  // acquire pairs with the release in keep().
  return !is_peak_open(climb) && entry.copied_climb.load(std::memory_order_acquire) == climb ? entry.copy
                                                                                             : entry.now;
}

}  // namespace memprof
