// SPDX-License-Identifier: Apache-2.0
// The heap at its highest, by stack, at the cost of a few additions a sample.
//
// Model: an estimate wanders around the truth, and its highest point is where it wandered up: a peak chosen
// and measured by the same samples is too high.  So the samples of rate R are dealt to two halves, each what
// a clock of rate 2 R of its own would have found (a large block can be in both): one half chooses the
// moment, the other one says what was there.  docs/decisions/0047-the-peak.md derives and measures it.
//
// Each stack has its sums of the counting half.  While the heap of the choosing half is at its highest, they
// are the sums at the peak: the peak is open.  The first event that takes the heap down closes it: `climb`
// becomes odd.  From then on an event of a stack whose copy is of another climb first copies the stack's
// sums.  A heap that is higher than ever opens the peak again: `climb` becomes even, and all copies are old.
//
// Threads: any.  Who changes a stack while another thread copies its sums, or while the peak opens or closes,
// can be off by that one event.
// Allocates: from its section, where each stack has an entry.
// Failure: reserve() returns false when the system has no memory.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/arena/arena.h"
#include "core/sampling/weight.h"
#include "core/tables/heap_map.h"

namespace memprof {

// Sums over the live samples of the counting half.
struct PeakSums {
  std::atomic<uint64_t> samples;
  std::atomic<uint64_t> size_bytes;
  std::atomic<double> weight_bytes;
  std::atomic<double> weight_count;
  std::atomic<double> variance_bytes;
  std::atomic<double> variance_count;
};

// Two cache lines; the second is written once a climb, and when a maximum rises.
struct alignas(64) StackPeak {
  PeakSums now;
  std::atomic<uint64_t> claimed_climb;  // who changes it (compare-exchange) makes the copy of that climb
  std::atomic<uint64_t> copied_climb;   // `copy` is whole (release; readers acquire)
  PeakSums copy;
  std::atomic<double> max_missed_bytes;  // of all samples so far: largest Weight::missed_bytes()
  std::atomic<double> max_missed_count;
};
static_assert(sizeof(StackPeak) == 128);

// Which halves a sample is in, and what it stands for there.
struct PeakShare {
  bool chooses;
  bool counts;
  Weight weight;
};
PeakShare peak_share(const SampleFields& sample, uint64_t seed);

class PeakTable {
 public:
  PeakTable() = default;
  explicit PeakTable(const Arena& arena);

  // Makes the entry of a stack usable.
  static bool reserve(const Arena& arena, uint32_t stack_id);

  // Asks for the line of a stack's sums.
  void prefetch(uint32_t stack_id) const { __builtin_prefetch(&entries_[stack_id], 1); }

  void add(const LiveSample& sample) const;
  void take(const LiveSample& sample, uint64_t now_ns) const;

  // `from` is about to become another stack, and nothing of it is live: what it had at the peak goes to `to`.
  void fold(uint32_t from, uint32_t to) const;

  // A live sample becomes another stack's.
  void move(const LiveSample& sample, uint32_t to) const;

  // The peak begins anew, with what is live now.
  void reset(uint64_t now_ns) const;

  // The process ends: resident memory of a peak that is open, and its maximum.
  void note_end() const;

 private:
  PeakState& state() const { return arena_.header().peak; }
  void count_in(uint32_t stack, uint64_t size_bytes, const Weight& w) const;
  void count_out(uint32_t stack, uint64_t size_bytes, const Weight& w) const;
  void keep(StackPeak* peak) const;
  void rise(uint64_t to_bytes, uint64_t time_ns) const;
  void fall(uint64_t to_bytes, uint64_t now_ns) const;
  void note_resident(bool is_at_peak) const;

  Arena arena_;
  StackPeak* entries_ = nullptr;
};

inline bool is_peak_open(uint64_t climb) {
  return (climb & 1) == 0;
}

// The sums of one stack at the peak, as far as they can be told while writers go on.  `climb`: PeakState's.
const PeakSums& sums_at_peak(const StackPeak& entry, uint64_t climb);

}  // namespace memprof
