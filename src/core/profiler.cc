// SPDX-License-Identifier: Apache-2.0
#include "core/profiler.h"

#include <new>

#include "core/module_table.h"
#include "core/name_table.h"
#include "core/sampled_filter.h"
#include "core/sampler.h"
#include "core/stack_table.h"
#include "core/weight.h"

namespace memprof::profiler {
namespace {

// Set while one thread initialises; never seen outside state().
constexpr uint32_t kInitializing = 100;

std::atomic<uint32_t> g_state{0};
std::atomic<bool> g_following{false};
std::atomic<bool> g_hooks{false};  // relaxed: set before main
uint64_t g_mark = 0;               // what the mark reads in the owner

Arena g_arena;
HeapMap g_live;
StackTable g_stacks;
NameTable g_names;
ModuleTable g_modules;

uint32_t raw(State state) {
  return static_cast<uint32_t>(state);
}

bool change_state(State from, State to) {
  uint32_t expected = raw(from);
  if (!g_state.compare_exchange_strong(expected, raw(to), std::memory_order_seq_cst)) {
    return false;
  }
  // For readers from outside.  Another change may come in between; whoever is last must leave the last state,
  // hence sequential consistency: each store is followed by a look for a later state.
  uint32_t now;
  do {
    now = g_state.load(std::memory_order_seq_cst);
    g_arena.header().state.store(now, std::memory_order_seq_cst);
  } while (g_state.load(std::memory_order_seq_cst) != now);
  return true;
}

// The tables are there and are this process's.
bool is_following() {
  return g_following.load(std::memory_order_acquire) && is_owner();
}

uint32_t current_thread_id() {
  if (t_sampler.thread_id == 0) {
    t_sampler.thread_id = platform::thread_id();
  }
  return t_sampler.thread_id;
}

// Of a sample whose stack is not in the table; the others' are counted there.
void count_walk(Statistics& statistics, const platform::WalkResult& walk) {
  count(statistics.walks[static_cast<uint32_t>(walk.reason)]);
  count(statistics.frames, walk.depth);
  uint64_t least = statistics.min_depth_plus_one.load(std::memory_order_relaxed);
  while ((least == 0 || walk.depth + 1 < least) && !statistics.min_depth_plus_one.compare_exchange_weak(
                                                       least, walk.depth + 1, std::memory_order_relaxed)) {
  }
}

bool take(const void* block, HeapMap::Token token, LiveSample* freed) {
  if (!g_live.erase(reinterpret_cast<uint64_t>(block), token, freed)) {
    return false;
  }
  g_stacks.prefetch_freed(freed->stack_id);
  g_sampled_filter.unmark(freed->address);
  return true;
}

void account_freed(const LiveSample& freed) {
  const uint64_t now = platform::monotonic_ns();
  g_stacks.add_freed(freed.stack_id, freed.size_bytes, weigh(freed.size_bytes, freed.rate_bytes),
                     now > freed.time_ns ? now - freed.time_ns : 0);
}

void count_dropped(std::atomic<uint64_t>& counter, const Weight& weight) {
  count(counter);
  count(g_arena.header().statistics.dropped_weight_bytes, static_cast<uint64_t>(weight.bytes + 0.5));
}

enum class Purpose {
  kFind,   // asks memory for what end_allocation will look up, and that is all
  kEnter,  // finds or makes the stack's entry
};

// A function of its own: its frames are gone when the real malloc is called.
[[gnu::noinline]] void walk_stack(const platform::Entry& entry, Purpose purpose, Pending* p) {
  // As large as the limit in force, not as the largest limit: threads have stacks of 16 KiB, too.
  const uint32_t max_depth = g_arena.header().limits.max_depth;
  uint64_t* frames = static_cast<uint64_t*>(__builtin_alloca(max_depth * sizeof(uint64_t)));
  // A second time at most: when the first walk went by what was remembered of a module that is gone.
  for (int attempt = 0; attempt < 2; ++attempt) {
    const platform::WalkResult walk = platform::capture_stack(entry, frames, max_depth);
    g_modules.tag(frames, walk.depth);
    p->walk = walk;
    p->key = stack_key(frames, walk.depth, walk.reason);
    if (purpose == Purpose::kFind) {
      g_stacks.prefetch(p->key);
      return;
    }
    bool is_new = false;
    p->stack = g_stacks.intern(p->key, frames, walk.depth, walk.reason, &is_new);
    if (!is_new || !g_modules.note(frames, walk.depth)) {
      return;
    }
    platform::forget_code();
  }
}

}  // namespace

void adopt_process() {
  if (g_mark != 0) {
    return;
  }
  const uint64_t value = platform::random_seed() | 16;  // none of the small values that the sampler reserves
  const volatile uint64_t* mark = platform::make_owner_mark(value);
  if (mark != nullptr) {
    g_mark = value;
    sampler_set_mark(mark);
  }
}

// Without a mark (the kernel is too old for one) a child cannot be told from its parent here; the fork
// handler of the platform then stops it.
bool is_owner() {
  return g_mark == 0 || sampler_mark() == g_mark;
}

Status initialize(const Limits& limits, uint64_t rate_bytes) {
  for (;;) {
    uint32_t expected = raw(State::kUninitialized);
    if (g_state.compare_exchange_strong(expected, kInitializing, std::memory_order_acq_rel)) {
      break;
    }
    if (expected == raw(State::kTerminated)) {
      return Status::kWrongState;
    }
    if (expected != kInitializing) {
      return Status::kOk;
    }
    platform::yield_thread();  // another thread is at it
  }
  adopt_process();
  const Arena arena = Arena::create(limits);
  if (!arena) {
    g_state.store(raw(State::kUninitialized), std::memory_order_release);
    return Status::kNoMemory;
  }
  platform::advise_sparse(const_cast<void*>(g_sampled_filter.memory()), SampledFilter::memory_bytes());
  g_arena = arena;
  g_live = HeapMap(arena);
  g_stacks = StackTable(arena);
  g_names = NameTable(arena);
  new (&g_modules) ModuleTable(arena, &g_names);
  g_following.store(true, std::memory_order_release);
  set_rate(rate_bytes);
  arena.header().state.store(raw(State::kInitialized), std::memory_order_relaxed);
  g_state.store(raw(State::kInitialized), std::memory_order_release);
  return Status::kOk;
}

Status start() {
  if (!is_owner()) {
    return Status::kForked;
  }
  if (!change_state(State::kInitialized, State::kActive) && !change_state(State::kStopped, State::kActive)) {
    return Status::kWrongState;
  }
  sampler_redraw();
  return Status::kOk;
}

Status stop() {
  if (!is_owner()) {
    return Status::kForked;
  }
  if (!change_state(State::kActive, State::kStopped)) {
    return Status::kWrongState;
  }
  return Status::kOk;
}

Status shutdown() {
  if (!is_owner()) {
    return Status::kForked;
  }
  if (state() == State::kTerminated) {
    return Status::kOk;
  }
  stop();
  if (!change_state(State::kStopped, State::kTerminated) &&
      !change_state(State::kInitialized, State::kTerminated)) {
    return state() == State::kTerminated ? Status::kOk : Status::kWrongState;
  }
  g_following.store(false, std::memory_order_release);
  return Status::kOk;
}

void set_rate(uint64_t rate_bytes) {
  sampler_set_rate(rate_bytes);
  if (const Arena a = arena()) {
    a.header().rate_bytes.store(rate_bytes, std::memory_order_relaxed);
  }
  sampler_redraw();
}

State state() {
  const uint32_t value = g_state.load(std::memory_order_acquire);
  return value == kInitializing ? State::kUninitialized : static_cast<State>(value);
}

Arena arena() {
  return g_following.load(std::memory_order_acquire) || state() == State::kTerminated ? g_arena : Arena();
}

void begin_allocation(const platform::Entry& entry, Pending* pending) {
  // Relaxed: a sample more or less at the edge of start and stop is none the worse.
  pending->recording = g_state.load(std::memory_order_relaxed) == raw(State::kActive) && is_following();
  if (pending->recording) {
    walk_stack(entry, Purpose::kFind, pending);
  }
}

// The order: what memory is asked for first, and what needs none of it goes in between.  Locked instructions
// come last, because they wait for all that the real malloc still stores.
void end_allocation(Pending* pending, const void* block, uint64_t size_bytes, uint64_t rate_bytes,
                    const platform::Entry& entry) {
  const uint64_t address = reinterpret_cast<uint64_t>(block);
  g_live.prefetch(address);
  g_sampled_filter.prefetch(block);
  pending->stack = g_stacks.find_likely(pending->key);
  const Weight weight = weigh(size_bytes, rate_bytes);
  const uint64_t time_ns = platform::monotonic_ns();
  if (pending->stack == StackTable::kNone || !g_stacks.is(pending->stack, pending->key)) {
    walk_stack(entry, Purpose::kEnter, pending);
  }
  Statistics& statistics = g_arena.header().statistics;
  if (pending->stack == StackTable::kNone) {
    count_walk(statistics, pending->walk);
    count_dropped(statistics.dropped_stack_table, weight);
    return;
  }
  g_stacks.add_allocated(pending->stack, size_bytes, weight);
  if (g_sampled_filter.may_be(block)) {
    // A record at an address that the allocator hands out anew: its free went past us.
    LiveSample stale;
    if (take(block, g_live.find(address), &stale)) {
      count(statistics.replaced_samples);
      account_freed(stale);
    }
  }
  if (!g_live.insert({address, size_bytes, rate_bytes, time_ns, pending->stack, current_thread_id()})) {
    count_dropped(statistics.dropped_live_table, weight);
  } else if (g_sampled_filter.mark(address)) {
    count(statistics.filter_saturated);
  }
}

bool record_allocation(const void* block, uint64_t size_bytes, uint64_t rate_bytes,
                       const platform::Entry& entry) {
  Pending pending;
  begin_allocation(entry, &pending);
  if (pending.recording) {
    end_allocation(&pending, block, size_bytes, rate_bytes, entry);
  }
  return pending.recording;
}

void record_free(const void* block) {
  commit_realloc(block, begin_realloc(block));
}

HeapMap::Token begin_realloc(const void* block) {
  if (!is_following()) {
    return {};
  }
  const uint64_t address = reinterpret_cast<uint64_t>(block);
  g_live.prefetch(address);
  return g_live.find(address);
}

void commit_realloc(const void* block, HeapMap::Token token) {
  LiveSample freed;
  if (take(block, token, &freed)) {
    account_freed(freed);
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
    }
    if (muted_bytes != 0) {
      count(statistics.muted_bytes, muted_bytes);
    }
  }
}

Counters counters() {
  if (Arena a = arena()) {
    Counters c = read_counters(a.header(), &g_stacks.entry(0), g_stacks.size());
    c.state = state();
    return c;
  }
  Counters c{};
  c.rate_bytes = sampler_rate();
  return c;
}

void code_was_unloaded() {
  if (is_following()) {
    g_modules.retire_unloaded();
  }
}

void announce_hooks() {
  g_hooks.store(true, std::memory_order_relaxed);
}
bool has_hooks() {
  return g_hooks.load(std::memory_order_relaxed);
}

}  // namespace memprof::profiler
