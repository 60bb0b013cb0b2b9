// SPDX-License-Identifier: Apache-2.0
// The part of a snapshot that reads the heap at its highest.
#include <algorithm>

#include "core/reader/snapshot_source.h"
#include "core/tables/peak.h"

namespace memprof {
namespace {

// Bytes that somebody else may be writing, or that are garbage: what cannot be a sum over samples, each of
// which stands for at least itself, is made one.
double at_least(const std::atomic<double>& sum, double least) {
  const double value = sum.load(std::memory_order_relaxed);
  return value >= least && value < 1e300 ? value : least;
}

// In this order, and written in the other one (core/tables/peak.cc).
void copy_sums(const PeakSums& from, const StackPeak& entry, SnapshotTotals* to) {
  to->samples = from.samples.load(std::memory_order_acquire);
  if (to->samples == 0 || to->samples > UINT64_MAX / 2) {
    *to = {};
    return;
  }
  to->size_bytes = from.size_bytes.load(std::memory_order_relaxed);
  to->weight_bytes = at_least(from.weight_bytes, static_cast<double>(to->size_bytes));
  to->weight_count = at_least(from.weight_count, static_cast<double>(to->samples));
  to->variance_bytes = at_least(from.variance_bytes, 0);
  to->variance_count = at_least(from.variance_count, 0);
  to->max_missed_bytes = at_least(entry.max_missed_bytes, 0);
  to->max_missed_count = at_least(entry.max_missed_count, 0);
}

}  // namespace

// Once more where the peak opened or closed meanwhile.
void Snapshot::copy_peaks(Source* source) {
  if (!source->has_peaks()) {
    return;
  }
  constexpr int kMostTries = 3;
  const PeakState& state = source->header().peak;
  for (int tries = 0; tries < kMostTries; ++tries) {
    source->refresh();
    const uint64_t climb = state.climb.load(std::memory_order_acquire);
    source->load(kPeakSection);
    const auto* entries = source->at<StackPeak>(kPeakSection);
    peaks.size = std::min(source->count<StackPeak>(kPeakSection), stacks.size);
    for (uint64_t i = 0; i < peaks.size; ++i) {
      copy_sums(sums_at_peak(entries[i], climb), entries[i], &peaks.data[i]);
    }
    if (source->file >= 0) {
      source->refresh();
    }
    if (state.climb.load(std::memory_order_acquire) == climb) {
      break;
    }
  }
  peak.time_ns = state.time_ns.load(std::memory_order_relaxed);
  peak.resident_bytes = state.resident_bytes.load(std::memory_order_relaxed);
  peak.max_resident_bytes = state.max_resident_bytes.load(std::memory_order_relaxed);
  for (uint64_t i = 0; i < peaks.size; ++i) {
    peak.weight_bytes += peaks.data[i].weight_bytes;
    peak.weight_count += peaks.data[i].weight_count;
  }
  for (uint64_t i = peaks.size; i < stacks.size; ++i) {
    peaks.data[i] = {};
  }
  peaks.size = stacks.size;
}

}  // namespace memprof
