// SPDX-License-Identifier: Apache-2.0
// The part of a snapshot that reads the heap at its highest.
#include <algorithm>

#include "core/counts/allocator_counts.h"
#include "core/reader/snapshot_source.h"
#include "core/tables/peak.h"

namespace memprof {
namespace {

// Bytes that somebody else may be writing, or that are garbage: what cannot be a sum over samples, each of
// which stands for at least itself, is made one.
double at_least(const std::atomic<double>& sum, double min) {
  const double value = sum.load(std::memory_order_relaxed);
  return value >= min && value < 1e300 ? value : min;
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

// Is the peak the moment that the records are of?
bool is_moment_of_records(const PeakState& peak, const Ending& ending, uint64_t climb,
                          uint64_t end_begun_ns) {
  if (end_begun_ns == 0) {
    return is_peak_open(climb);
  }
  const uint64_t begun = ending.begun_climb.load(std::memory_order_relaxed);
  return is_peak_open(begun) && climb - begun <= 1 &&
         peak.time_ns.load(std::memory_order_relaxed) <= end_begun_ns;
}

void add_sample(const SnapshotRecord& record, SnapshotTotals* sum) {
  const Weight weight = weigh(record.size_bytes, record.rate_bytes);
  const double missed = 1.0 - weight.probability;
  ++sum->samples;
  sum->size_bytes += record.size_bytes;
  sum->weight_bytes += record.weight_bytes;
  sum->weight_count += record.weight_count;
  sum->variance_bytes += missed * record.weight_bytes * record.weight_bytes;
  sum->variance_count += missed * record.weight_count * record.weight_count;
  sum->max_missed_bytes = std::max(sum->max_missed_bytes, weight.missed_bytes());
  sum->max_missed_count = std::max(sum->max_missed_count, weight.missed);
}

void take_out(uint64_t size_bytes, const Weight& weight, SnapshotTotals* sum) {
  const double missed = 1.0 - weight.probability;
  sum->samples -= sum->samples != 0 ? 1 : 0;
  sum->size_bytes -= std::min(sum->size_bytes, size_bytes);
  sum->weight_bytes -= weight.bytes;
  sum->weight_count -= weight.count;
  sum->variance_bytes -= missed * weight.bytes * weight.bytes;
  sum->variance_count -= missed * weight.count * weight.count;
}

// After sums were taken out, which rounding and races leave a little off.
void make_plausible(SnapshotTotals* sum) {
  if (sum->samples == 0) {
    *sum = {};
    return;
  }
  sum->weight_bytes = std::max(sum->weight_bytes, static_cast<double>(sum->size_bytes));
  sum->weight_count = std::max(sum->weight_count, static_cast<double>(sum->samples));
  sum->variance_bytes = std::max(sum->variance_bytes, 0.0);
  sum->variance_count = std::max(sum->variance_count, 0.0);
}

}  // namespace

// Once more where the peak opened or closed meanwhile.
void Snapshot::copy_peaks(Source* source) {
  if (!source->has_peaks()) {
    return;
  }
  constexpr int kMaxTries = 3;
  const PeakState& state = source->header().peak;
  for (int tries = 0; tries < kMaxTries; ++tries) {
    source->refresh();
    peak_climb_ = state.climb.load(std::memory_order_acquire);
    source->load(kPeakSection);
    const auto* entries = source->at<StackPeak>(kPeakSection);
    peaks.size = std::min(source->count<StackPeak>(kPeakSection), stacks.size);
    for (uint64_t i = 0; i < peaks.size; ++i) {
      copy_sums(sums_at_peak(entries[i], peak_climb_), entries[i], &peaks.data[i]);
    }
    if (source->file >= 0) {
      source->refresh();
    }
    if (state.climb.load(std::memory_order_acquire) == peak_climb_) {
      break;
    }
  }
  for (uint64_t i = peaks.size; i < stacks.size; ++i) {
    peaks.data[i] = {};
  }
  peaks.size = stacks.size;
}

void Snapshot::copy_peak(Source* source, uint64_t i) {
  if (source->has_peaks() && i < source->count<StackPeak>(kPeakSection)) {
    source->load_part(kPeakSection, i * sizeof(StackPeak), sizeof(StackPeak));
    const StackPeak& entry = source->at<StackPeak>(kPeakSection)[i];
    copy_sums(sums_at_peak(entry, peak_climb_), entry, &peaks.data[i]);
  }
}

void Snapshot::copy_allocator_counts(const Source& source) {
  if (source.has_counts) {
    allocator_counts = counts::read(source.header().counted);
  }
}

// After the records know their stacks.
void Snapshot::finish_peaks(const Source& source) {
  if (!source.has_peaks()) {
    return;
  }
  const PeakState& state = source.header().peak;
  peak.time_ns = state.time_ns.load(std::memory_order_relaxed);
  peak.resident_bytes = state.resident_bytes.load(std::memory_order_relaxed);
  peak.max_resident_bytes = state.max_resident_bytes.load(std::memory_order_relaxed);
  if (source.has_counts) {
    const CountedState& counted_then = source.header().counted;
    peak.files_bytes = counted_then.peak_files_bytes.load(std::memory_order_relaxed);
    peak.free_bytes = counted_then.peak_free_bytes.load(std::memory_order_relaxed);
  }
  peak.is_open = end_ns == 0 && is_peak_open(peak_climb_);
  peak.is_resident_before = peak.is_open && peak.resident_bytes != 0;
  copy_allocator_counts(source);
  if (is_moment_of_records(state, source.header().ending, peak_climb_, end_begun_ns)) {
    sum_records_as_peaks();
  } else {
    count_survivors_whole(state.closed_ns.load(std::memory_order_relaxed), load_once(state.seed));
  }
  for (uint64_t i = 0; i < peaks.size; ++i) {
    peak.weight_bytes += peaks.data[i].weight_bytes;
    peak.weight_count += peaks.data[i].weight_count;
  }
}

// The heap never fell: nobody had to choose the moment, and all samples count.
void Snapshot::sum_records_as_peaks() {
  std::fill_n(peaks.data, peaks.size, SnapshotTotals{});
  for (uint64_t i = 0; i < records.size; ++i) {
    add_sample(records.data[i], &peaks.data[records.data[i].stack_id]);
  }
}

// What was live at the peak and still is needs no half to tell it, where that is nearly all: a program that
// grew until the end, but for a little.  Where more went since, the halves stay apart: the choosing half would
// bring its luck with it.
void Snapshot::count_survivors_whole(uint64_t closed_ns, uint64_t seed) {
  constexpr double kMaxGone = 1.0 / 16;
  const auto share_of = [seed](const SnapshotRecord& r) { return peak_share(r, seed); };
  double all_bytes = 0;
  for (uint64_t i = 0; i < peaks.size; ++i) {
    all_bytes += peaks.data[i].weight_bytes;
  }
  double gone_bytes = all_bytes;
  for (uint64_t i = 0; i < records.size; ++i) {
    const PeakShare share = share_of(records.data[i]);
    gone_bytes -= records.data[i].time_ns <= closed_ns && share.counts ? share.weight.bytes : 0;
  }
  if (gone_bytes > kMaxGone * all_bytes) {
    return;
  }
  for (uint64_t i = 0; i < records.size; ++i) {
    const SnapshotRecord& r = records.data[i];
    const PeakShare share = share_of(r);
    if (r.time_ns <= closed_ns && share.counts) {
      take_out(r.size_bytes, share.weight, &peaks.data[r.stack_id]);
    }
  }
  for (uint64_t i = 0; i < peaks.size; ++i) {
    make_plausible(&peaks.data[i]);
  }
  for (uint64_t i = 0; i < records.size; ++i) {
    if (records.data[i].time_ns <= closed_ns) {
      add_sample(records.data[i], &peaks.data[records.data[i].stack_id]);
    }
  }
}

// Whoever reads a process that has ended wants to know what it held before its end began.
void Snapshot::find_end(const Source& source) {
  if (!source.has_peaks() || end_ns == 0) {
    return;
  }
  const Ending& ending = source.header().ending;
  // acquire pairs with the release in ending.cc.
  const auto by = static_cast<EndBegun>(ending.begun_by.load(std::memory_order_acquire));
  const uint64_t begun_ns = ending.begun_ns.load(std::memory_order_relaxed);
  const bool is_by_runtime =
      by == EndBegun::kByRuntime && end_ns - std::min(begun_ns, end_ns) <= kRuntimeEndSeconds * 1000000000;
  if (by == EndBegun::kByExit || is_by_runtime) {
    end_begun_ns = begun_ns;
    kept_bit_ = is_by_runtime ? kKeptByRuntimeBit : kKeptByExitBit;
    copy_resident(source);
  }
}

void Snapshot::copy_resident(const Source& source) {
  if (source.header().version < kFirstVersionOfResident) {
    return;
  }
  const ResidentState& kept = source.header().resident;
  // acquire pairs with the release in ending.cc.
  if (kept.is_kept.load(std::memory_order_acquire) != 1) {
    return;
  }
  for (size_t i = 0; i < kKeptResidentFields; ++i) {
    resident.*kResidentFields[i].member = kept.fields[i].load(std::memory_order_relaxed);
  }
}

}  // namespace memprof
