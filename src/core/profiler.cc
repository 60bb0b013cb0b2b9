// SPDX-License-Identifier: Apache-2.0
#include "core/profiler.h"

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

uint32_t current_thread_id() {
  if (t_sampler.thread_id == 0) {
    t_sampler.thread_id = platform::thread_id();
  }
  return t_sampler.thread_id;
}

void account_free(const LiveSample& sample) {
  g_sampled_filter.unmark(sample.address);
  const uint64_t now = platform::monotonic_ns();
  g_stacks.add_freed(sample.stack_id, sample.size_bytes, weigh(sample.size_bytes, sample.rate_bytes),
                     now > sample.time_ns ? now - sample.time_ns : 0);
}

void count_walk(Statistics& statistics, const platform::WalkResult& walk) {
  count(statistics.walks[static_cast<uint32_t>(walk.reason)]);
  count(statistics.frames, walk.depth);
  uint64_t least = statistics.min_depth_plus_one.load(std::memory_order_relaxed);
  while ((least == 0 || walk.depth + 1 < least) && !statistics.min_depth_plus_one.compare_exchange_weak(
                                                       least, walk.depth + 1, std::memory_order_relaxed)) {
  }
}

void count_dropped(std::atomic<uint64_t>& counter, const Weight& weight) {
  count(counter);
  count(g_arena.header().statistics.dropped_weight_bytes, static_cast<uint64_t>(weight.bytes + 0.5));
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
  g_modules = ModuleTable(arena, &g_names);
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

bool record_allocation(const void* block, uint64_t size_bytes, uint64_t rate_bytes,
                       const platform::Entry& entry) {
  // Relaxed: a sample more or less at the edge of start and stop is none the worse.
  if (g_state.load(std::memory_order_relaxed) != raw(State::kActive) ||
      !g_following.load(std::memory_order_acquire) || !is_owner()) {
    return false;
  }
  ArenaHeader& header = g_arena.header();
  Statistics& statistics = header.statistics;
  const Weight weight = weigh(size_bytes, rate_bytes);

  // As large as the limit in force, not as the largest limit: threads have stacks of 16 KiB, too.
  uint64_t* frames = static_cast<uint64_t*>(__builtin_alloca(header.limits.max_depth * sizeof(uint64_t)));
  const platform::WalkResult walk = platform::capture_stack(entry, frames, header.limits.max_depth);
  bool is_new = false;
  const uint32_t stack = g_stacks.intern(frames, walk.depth, walk.reason, &is_new);
  // Not before: a locked instruction waits for all loads and stores under way, and those of the walk and of
  // the table can be under way together.
  count_walk(statistics, walk);
  if (stack == StackTable::kNone) {
    count_dropped(statistics.dropped_stack_table, weight);
    return true;
  }
  if (is_new) {
    g_modules.note(frames, walk.depth);
  }
  g_stacks.add_allocated(stack, size_bytes, weight);

  const uint64_t address = reinterpret_cast<uint64_t>(block);
  if (g_sampled_filter.may_contain(block)) {
    // A record at an address that the allocator hands out anew: its free went past us.
    LiveSample stale;
    if (g_live.erase(address, &stale)) {
      count(statistics.replaced_samples);
      account_free(stale);
    }
  }
  if (!g_live.insert(
          {address, size_bytes, rate_bytes, platform::monotonic_ns(), stack, current_thread_id()})) {
    count_dropped(statistics.dropped_live_table, weight);
    return true;
  }
  if (g_sampled_filter.mark(address)) {
    count(statistics.filter_saturated);
  }
  return true;
}

void record_free(const void* block) {
  commit_realloc(block, begin_realloc(block));
}

HeapMap::Token begin_realloc(const void* block) {
  if (!g_following.load(std::memory_order_acquire) || !is_owner()) {
    return {};
  }
  return g_live.find(reinterpret_cast<uint64_t>(block));
}

void commit_realloc(const void* block, HeapMap::Token token) {
  LiveSample sample;
  if (token && g_live.erase(reinterpret_cast<uint64_t>(block), token, &sample)) {
    account_free(sample);
  }
}

void count_cold_path(bool recorded, uint64_t muted_bytes) {
  if (recorded && muted_bytes == 0) {
    return;
  }
  if (g_following.load(std::memory_order_acquire) && is_owner()) {
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
    Counters c = read_counters(a.header());
    c.state = state();
    return c;
  }
  Counters c{};
  c.rate_bytes = sampler_rate();
  return c;
}

void announce_hooks() {
  g_hooks.store(true, std::memory_order_relaxed);
}
bool has_hooks() {
  return g_hooks.load(std::memory_order_relaxed);
}

}  // namespace memprof::profiler
