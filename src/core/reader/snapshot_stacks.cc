// SPDX-License-Identifier: Apache-2.0
// The part of a snapshot that reads the stacks, with their sums.
//
// A full table folds stacks while it is copied (core/tables/stack_folding.cc), and what one entry had is
// another one's then, which may be newer than the copy.  So the log of folds says which entries are to be read
// again, until there was no fold while they were.  Where several threads fold without a pause there may be no
// such moment: then it is as far off as the folds that were under way.
#include <algorithm>
#include <cstring>

#include "core/reader/snapshot_source.h"
#include "core/tables/heap_map.h"
#include "core/tables/stack_table.h"
#include "platform/memory.h"
#include "platform/process.h"

namespace memprof {
namespace {

// A process that is stopped in the middle of a fold never comes to its end, and a hostile one folds for ever.
constexpr int kStackTries = 1000;
constexpr uint64_t kMaxFolds = 16 * kFoldLogPlaces;
constexpr int kMaxCopies = 3;
// Threads that may be in a fold at once.
constexpr uint64_t kMaxAtOnce = 64;

// `is_thinned`: sums without a sample are what live samples stand for beyond what they stood for at first.
void copy_totals(const StackTotals& from, SnapshotTotals* to, bool is_thinned = false) {
  to->samples = from.samples.load(std::memory_order_acquire);
  if (to->samples == 0 && !is_thinned) {
    return;
  }
  copy_sums_of(from, to);
}

// Of an entry from which samples went to another one: what rounding leaves of sums of others.
void take_off_rounding(SnapshotTotals* allocated) {
  if (allocated->samples == 0) {
    *allocated = {};
    return;
  }
  const auto at_least = [](double sum, uint64_t min) { return std::max(sum, static_cast<double>(min)); };
  allocated->weight_bytes = at_least(allocated->weight_bytes, allocated->size_bytes);
  allocated->weight_count = at_least(allocated->weight_count, allocated->samples);
  allocated->variance_bytes = at_least(allocated->variance_bytes, 0);
  allocated->variance_count = at_least(allocated->variance_count, 0);
}

}  // namespace

void Snapshot::copy_stack(const Source& source, uint64_t i) {
  const StackEntry& e = source.at<StackEntry>(kStackSection)[i];
  SnapshotStack& s = stacks.data[i];
  SnapshotStackFrames& f = stack_frames.data[i];
  const SnapshotStackFrames old = f;
  s = {};
  f = {};
  // acquire pairs with the release in stack_table.cc; an entry that is not ready stays zero.
  if (e.ready.load(std::memory_order_acquire) == 0) {
    return;
  }
  const uint64_t first = load_once(e.first_frame) / sizeof(uint64_t);
  const uint32_t depth = load_once(e.depth);
  const uint32_t own = source.has_callers() ? load_once(e.own) : depth;
  const uint64_t used = source.count<uint64_t>(kFrameSection);
  // An entry that is read again has its old place, or a new one.
  const bool is_old_place = own <= old.own;
  if (depth <= kMaxDepth && own <= depth && first <= used && own <= used - first &&
      (is_old_place || own <= max_frames_ - own_frames.size)) {
    f = {is_old_place ? old.first_own : own_frames.size, own, own < depth ? load_once(e.callers) : 0};
    s.frame_count = depth;  // until finish_frames()
    own_frames.size += is_old_place ? 0 : own;
    // Only the frames of published stacks: others are being written.
    const auto* from = source.at<uint64_t>(kFrameSection, first * sizeof(uint64_t));
    for (uint32_t frame = 0; frame < own; ++frame) {
      own_frames.data[f.first_own + frame] = load_once(from[frame]);
    }
  }
  const uint32_t walk = load_once(e.walk) & kWalkMask;
  s.walk = walk < platform::kWalkReasons ? walk : static_cast<uint32_t>(platform::Walk::kNoRule);
  stack_heaps.data[i] = load_once(e.heap);
  copy_totals(e.allocated, &s.allocated);
  copy_totals(e.freed, &s.freed, source.is_thinned());
  s.allocated.variance_bytes = e.variance_bytes.load(std::memory_order_relaxed);
  s.allocated.variance_count = e.variance_count.load(std::memory_order_relaxed);
  s.allocated.max_missed_bytes = e.max_missed_bytes.load(std::memory_order_relaxed);
  s.allocated.max_missed_count = e.max_missed_count.load(std::memory_order_relaxed);
  if (source.has_folds()) {
    take_off_rounding(&s.allocated);
  }
  copy_lifetimes(source, i);
}

void Snapshot::copy_stacks_and_peaks(Source* source) {
  const auto copy_all = [&] {
    source->refresh();  // what grew since is wanted now
    source->load(kStackSection);
    source->load(kFrameSection);
    stacks.size = stack_heaps.size = stack_frames.size = source->count<StackEntry>(kStackSection);
    source->refresh();  // and the units that the entries name
    source->load(kLifetimeSection);
    own_frames.size = lifetimes.size = 0;
    if (source->file >= 0) {  // in the program's own process memory counts more than time
      platform::advise_dense(stacks.data, stacks.size * sizeof(SnapshotStack));
      platform::advise_dense(own_frames.data, source->used[kFrameSection]);
      platform::advise_dense(own_frame_modules.data,
                             source->count<uint64_t>(kFrameSection) * sizeof(uint32_t));
    }
    for (uint64_t i = 0; i < stacks.size; ++i) {
      stacks.data[i] = {};
      stack_frames.data[i] = {};
      lifetime_places_.data[i] = {};
      copy_stack(*source, i);
    }
    source->refresh();  // and the callers
    source->load(kCallerSection);
    copy_callers(*source);
    copy_peaks(source);
  };
  if (!source->has_folds()) {
    return copy_all();
  }
  const FoldState& state = source->header().fold;
  // The log from here on tells what to read again.
  const auto first_unsettled = [&state] {
    const uint64_t done = state.done.load(std::memory_order_acquire);
    return done == state.begun.load(std::memory_order_acquire) ? done : done - std::min(done, kMaxAtOnce);
  };
  source->refresh();
  uint64_t settled = first_unsettled();
  copy_all();
  int copies = 1;
  uint64_t folds = 0;
  for (int tries = 0; tries < kStackTries && folds < kMaxFolds; ++tries) {
    source->refresh();
    // In this order: where both are the same, no fold is under way.
    const uint64_t done = state.done.load(std::memory_order_acquire);
    const uint64_t begun = state.begun.load(std::memory_order_acquire);
    is_settled = done == begun && begun == settled;
    if (is_settled) {
      return;
    }
    if (done != begun && !platform::is_sandboxed()) {
      platform::yield_thread();  // to the one that is in the middle of a fold
    }
    if (begun - settled > kFoldLogPlaces) {
      if (++copies > kMaxCopies) {
        return;
      }
      settled = first_unsettled();
      copy_all();
      continue;
    }
    source->refresh();  // who got sums may be a stack that was made since
    source->load(kFoldSection);
    copy_new_stacks(source);
    bool are_read = true;
    for (uint64_t number = settled; number < begun; ++number) {
      are_read &= copy_folded(source, number);
    }
    folds += begun - settled;
    if (done == begun && are_read) {
      settled = begun;
    }
  }
}

void Snapshot::copy_new_stacks(Source* source) {
  for (uint64_t i = stacks.size; i < source->count<StackEntry>(kStackSection); ++i) {
    stacks.data[i] = {};
    stack_frames.data[i] = {};
    lifetime_places_.data[i] = {};
    peaks.data[i] = {};
    stacks.size = stack_heaps.size = stack_frames.size = peaks.size = i + 1;
    copy_stack_again(source, i);
  }
}

void Snapshot::copy_stack_again(Source* source, uint64_t i) {
  source->load_part(kStackSection, i * sizeof(StackEntry), sizeof(StackEntry));
  const StackEntry& e = source->at<StackEntry>(kStackSection)[i];
  if (e.ready.load(std::memory_order_acquire) != 0) {  // before, another thread may be writing it
    source->load_part(kFrameSection, load_once(e.first_frame),
                      load_once(source->has_callers() ? e.own : e.depth) * sizeof(uint64_t));
    source->load_units(e);
  }
  copy_stack(*source, i);
  copy_callers_of(source, stack_frames.data[i].callers);
  copy_peak(source, i);
}

// Both entries of a fold.  false: its record is not written yet, or is another one's by now, which was begun since.
bool Snapshot::copy_folded(Source* source, uint64_t number) {
  if (source->count<FoldRecord>(kFoldSection) < kFoldLogPlaces) {
    return false;
  }
  const FoldRecord& record = source->at<FoldRecord>(kFoldSection)[number % kFoldLogPlaces];
  // acquire pairs with the releases in stack_folding.cc.
  const uint64_t before = record.number.load(std::memory_order_acquire);
  const uint64_t entries = record.entries.load(std::memory_order_acquire);
  if (before != number + 1 || record.number.load(std::memory_order_acquire) != before) {
    return false;
  }
  for (const uint64_t i : {entries & UINT32_MAX, entries >> 32}) {
    if (i >= stacks.size) {
      return false;
    }
    copy_stack_again(source, i);
  }
  return true;
}

// The stack that `ref` names, as an index; stacks.size: none.  Where another stack has that entry since, it is the
// one that got the sums; where that is two stacks ago, the block was freed, as far as anybody can tell.  What names
// no stack is garbage.
uint32_t Snapshot::stack_index(const Source& source, uint32_t ref) const {
  const StackEntry* entries = source.at<StackEntry>(kStackSection);
  const auto none = static_cast<uint32_t>(stacks.size);
  uint32_t id = stack_id_of(ref);
  if (id >= stacks.size) {
    return none;
  }
  const uint32_t reuse = entries[id].reuse.load(std::memory_order_acquire);
  if (stack_ref(id, reuse - 1) == ref) {
    id = entries[id].folded_to.load(std::memory_order_relaxed);
  } else if (stack_ref(id, reuse) != ref) {
    return none;
  }
  return id < stacks.size ? id : none;
}

// Of each record: its stack as an index.
void Snapshot::match_records(const Source& source) {
  uint64_t kept = 0;
  for (uint64_t i = 0; i < records.size; ++i) {
    SnapshotRecord r = records.data[i];
    r.stack_id = stack_index(source, r.stack_id);
    if (r.stack_id < stacks.size) {
      records.data[kept++] = r;
    }
  }
  records.size = kept;
  std::sort(records.data, records.data + records.size, [](const SnapshotRecord& a, const SnapshotRecord& b) {
    if (a.stack_id != b.stack_id) {
      return a.stack_id < b.stack_id;
    }
    if (a.size_bytes != b.size_bytes) {
      return a.size_bytes < b.size_bytes;
    }
    return a.rate_bytes != b.rate_bytes ? a.rate_bytes < b.rate_bytes : a.address < b.address;
  });
  for (uint64_t i = 0; i < records.size; ++i) {
    live_weight_bytes += records.data[i].weight_bytes;
    live_weight_count += records.data[i].weight_count;
  }
}

}  // namespace memprof
