// SPDX-License-Identifier: Apache-2.0
#include "core/engine/recorder.h"

#include <cstring>

#include "core/counts/allocator_counts.h"
#include "core/engine/ending.h"
#include "core/engine/frame_rooms.h"
#include "core/engine/live_samples.h"
#include "core/engine/ownership.h"
#include "core/engine/thinning.h"
#include "core/rates/fine_start.h"
#include "core/rates/load_log.h"
#include "core/rates/rates.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "core/sampling/weight.h"
#include "platform/clock.h"
#include "platform/imports.h"
#include "platform/probes.h"
#include "platform/process.h"

namespace memprof::profiler {
namespace {

std::atomic<uint64_t> g_call_at_ns{UINT64_MAX};  // relaxed: who is first takes it out
std::atomic<uint32_t> g_only_thread{0};          // of record_thread(); relaxed, as start and stop
std::atomic<uint64_t> g_only_mark{0};            // sampler_mark() then: in a fork child it is another one

// Of a sample whose stack is not in the table; the others' are counted there.
void count_walk(Statistics& statistics, const platform::WalkResult& walk) {
  count(statistics.walks[static_cast<uint32_t>(walk.reason)]);
  count(statistics.frames, walk.depth);
  uint64_t min = statistics.min_depth_plus_one.load(std::memory_order_relaxed);
  while ((min == 0 || walk.depth + 1 < min) && !statistics.min_depth_plus_one.compare_exchange_weak(
                                                   min, walk.depth + 1, std::memory_order_relaxed)) {
  }
}

void count_dropped(std::atomic<uint64_t>& counter, const Weight& weight) {
  count(counter);
  count(g_arena.header().statistics.dropped_weight_bytes, rounded_bytes(weight));
}

// A sample that found no room for its stack, because the thread has none for a walk.
[[gnu::noinline, gnu::cold]] void count_not_walked(uint64_t size_bytes, uint64_t rate_bytes) {
  Statistics& statistics = g_arena.header().statistics;
  count_walk(statistics, {1, platform::Walk::kLeftStack});
  count_dropped(statistics.dropped_stack_table, weigh(size_bytes, rate_bytes));
}

// Was the last stack too deep for Pending::kept?  Relaxed: then the next one may be, and is walked once.
std::atomic<bool> g_is_deep{false};

void walk_to(const platform::Entry& entry, uint64_t* frames, uint32_t max_depth, Pending* p) {
  p->walk = platform::capture_stack(entry, frames, max_depth);
  g_modules.tag(frames, p->walk.depth);
}

// How many frames there is room for: in `room`; where all are taken, on the stack; where it is short, too, in
// Pending::kept, and the walk says that it was cut.
uint32_t max_frames(const FrameRoom& room, const platform::Entry& entry) {
  const uint32_t max_depth = g_arena.header().limits.max_depth;
  return room.frames() != nullptr || max_depth < Pending::kMaxKept ||
                 platform::has_stack_for_walk(entry, max_depth * sizeof(uint64_t))
             ? max_depth
             : Pending::kMaxKept;
}

// On the stack of the function that it is used in.
#define MEMPROF_FRAMES_OF(room, max_depth, p)   \
  ((room).frames() != nullptr ? (room).frames() \
   : (max_depth) <= Pending::kMaxKept           \
       ? (p)->kept                              \
       : static_cast<uint64_t*>(__builtin_alloca((max_depth) * sizeof(uint64_t))))

void walk_stack(const platform::Entry& entry, uint64_t* frames, uint32_t max_depth, Pending* p) {
  walk_to(entry, frames, max_depth, p);
  p->key = stack_key(frames, p->walk.depth, p->walk.reason, p->heap);
  const bool is_deep = p->walk.depth > Pending::kMaxKept;
  if (g_is_deep.load(std::memory_order_relaxed) != is_deep) {
    g_is_deep.store(is_deep, std::memory_order_relaxed);
  }
}

// On the stack, where memory is warm.  false: it is deeper.
bool walk_shallow(const platform::Entry& entry, Pending* p) {
  const uint32_t max_depth = g_arena.header().limits.max_depth;
  if (g_is_deep.load(std::memory_order_relaxed) && max_depth > Pending::kMaxKept) {
    return false;
  }
  walk_to(entry, p->kept, max_depth < Pending::kMaxKept ? max_depth : Pending::kMaxKept, p);
  p->key = stack_key(p->kept, p->walk.depth, p->walk.reason, p->heap);
  return max_depth <= Pending::kMaxKept || p->walk.reason != platform::Walk::kDepthLimit;
}

[[gnu::noinline]] void walk_deep(const platform::Entry& entry, Pending* p) {
  const FrameRoom room;
  const uint32_t max_depth = max_frames(room, entry);
  uint64_t* const frames = MEMPROF_FRAMES_OF(room, max_depth, p);
  walk_stack(entry, frames, max_depth, p);
  p->room = room.ticket();
  if (p->walk.depth <= Pending::kMaxKept && frames != p->kept) {
    memcpy(p->kept, frames, p->walk.depth * sizeof(uint64_t));
  }
}

// true: it is to be walked again.
bool enter_frames(const uint64_t* frames, Pending* p) {
  bool is_new = false;
  uint32_t unknown = 0;
  if (p->stack != StackTable::kNone) g_stacks.release(p->stack);  // of the walk before
  p->stack = g_stacks.intern(p->key, frames, p->walk.depth, p->walk.reason, &is_new, p->heap, &unknown);
  // Those of the callers that are known were noted when they became known, as all frames of a known stack were.
  const bool replaced = unknown != 0 && g_modules.note(frames, unknown);
  if (is_new) g_sweep.step();
  return replaced;
}

// Finds or makes the stack's entry.  Walks anew where the frames were too many to be kept and somebody had their room
// since, and once more where the walk went by what was remembered of a module that is gone.
[[gnu::noinline]] void enter_stack(const platform::Entry& entry, Pending* p) {
  {
    const FrameRoom written(p->room);
    const uint64_t* const frames = p->walk.depth <= Pending::kMaxKept ? p->kept : written.frames();
    if (frames != nullptr && !enter_frames(frames, p)) return;
    if (frames != nullptr) platform::forget_code();
  }
  const FrameRoom room;
  const uint32_t max_depth = max_frames(room, entry);
  uint64_t* const frames = MEMPROF_FRAMES_OF(room, max_depth, p);
  walk_stack(entry, frames, max_depth, p);
  if (enter_frames(frames, p)) {
    platform::forget_code();
    walk_stack(entry, frames, max_depth, p);
    enter_frames(frames, p);
  }
}

}  // namespace

uint32_t current_thread_id() {
  if (t_sampler.thread_id == 0) {
    t_sampler.thread_id = platform::thread_id();
  }
  return t_sampler.thread_id;
}

bool may_record() {
  // Relaxed: start and stop may miss a sample or add one, which is harmless.
  const uint32_t only = g_only_thread.load(std::memory_order_relaxed);
  return g_state.load(std::memory_order_relaxed) == raw(State::kActive) &&
         (is_following() || make_own_tables()) &&
         (__builtin_expect(only == 0, 1) || only == current_thread_id() ||
          sampler_mark() != g_only_mark.load(std::memory_order_relaxed));
}

void record_thread(uint32_t thread_id) {
  g_only_mark.store(sampler_mark(), std::memory_order_relaxed);
  g_only_thread.store(thread_id, std::memory_order_relaxed);
}

uint32_t enter_stack_here(const platform::Entry& entry, uint32_t heap) {
  Pending pending;
  if (!begin_allocation(entry, &pending, heap)) {
    return UINT32_MAX;
  }
  uint64_t kept[Pending::kMaxKept];
  pending.kept = kept;
  find_stack(entry, &pending);
  pending.stack = g_stacks.find_likely(pending.key);
  if (pending.stack == StackTable::kNone || !g_stacks.hold(pending.stack, pending.key)) {
    pending.stack = StackTable::kNone;
    enter_stack(entry, &pending);
  }
  return pending.stack == StackTable::kNone ? UINT32_MAX : g_stacks.ref(pending.stack);
}

bool begin_allocation(const platform::Entry& entry, Pending* pending, uint32_t heap) {
  pending->recording = may_record();
  if (pending->recording) {
    pending->heap = heap;
    pending->is_walked = platform::has_stack_for_walk(entry, 0);
  }
  return pending->recording && pending->is_walked;
}

// Asks memory for what end_allocation will look up, and that is all.  A function of its own: its frames are
// gone when the real malloc is called.
[[gnu::noinline]] void find_stack(const platform::Entry& entry, Pending* p) {
  p->room = {0, 0};
  if (!walk_shallow(entry, p)) {
    walk_deep(entry, p);
  }
  g_stacks.prefetch(p->key);
}

// The order: what memory is asked for first, and what needs none of it goes in between.  Locked instructions
// come last, because they wait for all that the real malloc still stores.
void end_allocation(Pending* pending, const void* block, uint64_t size_bytes, uint64_t rate_bytes,
                    const platform::Entry& entry) {
  if (__builtin_expect(!pending->is_walked, 0)) {
    return count_not_walked(size_bytes, rate_bytes);
  }
  const uint64_t address = reinterpret_cast<uint64_t>(block);
  g_live.prefetch(address);
  g_sampled_filter.prefetch(block);
  pending->stack = g_stacks.find_likely(pending->key);
  if (pending->stack != StackTable::kNone) {
    g_peaks.prefetch(pending->stack);
  }
  const Weight weight = weigh(size_bytes, rate_bytes);
  const uint64_t time_ns = platform::monotonic_ns();
  if (pending->stack == StackTable::kNone || !g_stacks.hold(pending->stack, pending->key)) {
    pending->stack = StackTable::kNone;
    enter_stack(entry, pending);
  }
  ArenaHeader& header = g_arena.header();
  Statistics& statistics = header.statistics;
  if (pending->stack == StackTable::kNone) {
    count_walk(statistics, pending->walk);
    return count_dropped(statistics.dropped_stack_table, weight);
  }
  g_stacks.add_allocated(pending->stack, size_bytes, weight);
  if (g_sampled_filter.may_be(block)) {
    // A record at an address that the allocator hands out anew: its free went past us, or is that of a realloc which has
    // not returned yet (its commit will not find the record).
    LiveSample stale;
    if (take(address, g_live.find(address), &stale)) {
      if (!stale.is_moving) count(statistics.replaced_samples);
      account_freed(stale);
    }
  }
  const LiveSample sample{
      {address, size_bytes, rate_bytes, time_ns, g_stacks.ref(pending->stack), current_thread_id()}};
  // Before other threads find it: one of them may thin it.
  account_live(sample, weight);
  if (g_sampled_filter.mark(address)) count(statistics.filter_saturated);
  if (g_live.insert(sample)) {
    platform::probe_sample(reported::address_of(address), size_bytes, rounded_bytes(weight), rate_bytes,
                           sample.thread_id);
  } else {
    count_dropped(statistics.dropped_live_table, weight);
    account_refused(sample, weight);
  }
  load_log::count(&header.load, load_log::counted_bytes(weight.bytes, rate_bytes),
                  time_ns > header.start_ns ? time_ns - header.start_ns : 0);
  if (__builtin_expect(header.rates.is_counted.load(std::memory_order_relaxed) != 0, 0)) {
    rates::count_sample(&header.rates, rate_bytes, rounded_bytes(weight));
    fine_start::count_sample(&header, rounded_bytes(weight), time_ns);
  }
  thin_live_samples(time_ns);
  budget::look(time_ns);
  if (pending->heap == 0) counts::look(time_ns, entry);  // a reporter may hold locks of its own
  platform::watch_imports(time_ns);
  uint64_t due_ns = g_call_at_ns.load(std::memory_order_relaxed);
  if (__builtin_expect(time_ns >= due_ns, 0) && !platform::is_sandboxed() &&
      g_call_at_ns.compare_exchange_strong(due_ns, UINT64_MAX, std::memory_order_relaxed)) {
    on_time(time_ns);
  }
}

// What the tables take while they can: as many samples, stacks and frames as most programs ever have.
void before_sandbox() {
  if (!become_owner() || !ensure_arena()) {
    return;
  }
  constexpr uint64_t kSamples = 10000;
  constexpr uint64_t kStacks = 1000;
  g_live.open_for(kSamples);
  g_stacks.open_for(kStacks);
  g_arena.commit_ahead(kStackSection, kStacks * sizeof(StackEntry));
  g_arena.commit_ahead(kPeakSection, kStacks * sizeof(StackPeak));
  g_arena.commit_ahead(kLifetimeSection, kStacks * kMeanUnits * sizeof(LifetimeUnit));
  g_arena.commit_ahead(kFrameSection, kStacks * kFrameUnit * sizeof(uint64_t));
  g_arena.commit_ahead(kCallerSection, 2 * kStacks * sizeof(CallerPiece));
  current_thread_id();
  uint64_t frame = 0;
  platform::capture_stack({__builtin_frame_address(0)}, &frame, 1);  // where this thread's stack ends
}

void call_at(uint64_t time_ns) {
  g_call_at_ns.store(time_ns, std::memory_order_relaxed);
}

bool record_allocation(const void* block, uint64_t size_bytes, uint64_t rate_bytes,
                       const platform::Entry& entry, uint32_t heap) {
  Pending pending;
  uint64_t kept[Pending::kMaxKept];
  pending.kept = kept;
  if (begin_allocation(entry, &pending, heap)) {
    find_stack(entry, &pending);
  }
  if (pending.recording) {
    end_allocation(&pending, block, size_bytes, rate_bytes, entry);
  }
  return pending.recording;
}

static HeapMap::Token find_live(const void* block) {
  if (!is_following()) {
    return {};
  }
  const uint64_t address = reinterpret_cast<uint64_t>(block);
  g_live.prefetch(address);
  return g_live.find(address);
}

void record_free(const void* block) {
  budget::Meter meter(budget::is_measured_free(reinterpret_cast<uint64_t>(block)) ? platform::monotonic_ns()
                                                                                  : 0);
  commit_realloc(block, find_live(block));
  if (__builtin_expect(meter.is_on(), 0)) {
    note_cost(&meter);
  }
}

void note_cost(budget::Meter* meter) {
  if (is_following()) {
    meter->stop();
  }
}

HeapMap::Token begin_realloc(const void* block) {
  const HeapMap::Token token = find_live(block);
  if (token) {
    g_live.begin_move(token);
  }
  return token;
}

void cancel_realloc(HeapMap::Token token) {
  if (token && is_following()) {
    g_live.end_move(token);
  }
}

void commit_realloc(const void* block, HeapMap::Token token) {
  if (!token) {
    if (is_following()) {
      kept_from();  // a fork child's runtime may free what its parent allocated first when it ends
    }
    return;
  }
  LiveSample freed;
  const KeptFrom kept = kept_from();
  if (take(reinterpret_cast<uint64_t>(block), token, &freed, kept)) {
    account_freed(freed, kept);
  }
}

// By the filter, which says of most memory that nothing is there and of the rest where; by the keys of the
// live map where that is less to ask.
void record_free_range(uint64_t first, uint64_t last) {
  if (!is_following()) {
    return;
  }
  const auto free_at = [](uint64_t address) { record_free(reinterpret_cast<void*>(address)); };
  uint64_t questions = 0;
  for (uint64_t at = first; questions <= g_live.slots() && at <= last && at >= first;
       at = SampledFilter::next_granule(at)) {
    questions += g_sampled_filter.candidates(at).count;
  }
  if (questions > g_live.slots()) {
    uint64_t address;
    for (uint64_t slot = 0; g_live.next_between(first, last, &slot, &address);) {
      free_at(address);
    }
    return;
  }
  for (uint64_t at = first; questions != 0 && at <= last && at >= first;
       at = SampledFilter::next_granule(at)) {
    const SampledFilter::Candidates c = g_sampled_filter.candidates(at);
    for (uint64_t address = c.first; address - c.first < c.count; ++address) {
      if (first <= address && address <= last) {
        free_at(address);
      }
    }
  }
}

void count_cold_path(bool recorded, uint64_t muted_bytes) {
  if (recorded && muted_bytes == 0) {
    return;
  }
  if (is_following()) {
    Statistics& statistics = g_arena.header().statistics;
    if (!recorded) {
      count(statistics.unrecorded_events);
      if (__builtin_expect(budget::is_on(), 0)) {
        budget::look(platform::monotonic_ns());
      }
    }
    if (muted_bytes != 0) {
      count(statistics.muted_bytes, muted_bytes);
    }
  }
}

}  // namespace memprof::profiler
