// SPDX-License-Identifier: Apache-2.0
#include "core/engine/profiler.h"

#include <cstring>
#include <new>

#include "core/engine/frame_rooms.h"
#include "core/engine/runtimes.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "core/sampling/weight.h"
#include "core/tables/code_table.h"
#include "core/tables/heap_names.h"
#include "core/tables/module_table.h"
#include "core/tables/name_table.h"
#include "core/tables/peak.h"
#include "core/tables/stack_table.h"
#include "format/path_pattern.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/imports.h"
#include "platform/memory.h"
#include "platform/process.h"

namespace memprof::profiler {
namespace {

// Set while one thread initialises; never seen outside state().
constexpr uint32_t kInitializing = 100;

std::atomic<uint32_t> g_state{0};
std::atomic<bool> g_following{false};
std::atomic<bool> g_hooks{false};  // relaxed: set before main
std::atomic<uint32_t> g_python_stacks{0};
std::atomic<uint64_t> g_python{0};  // as Statistics::python; relaxed
platform::OwnerPage* g_page = nullptr;
// What the page's mark reads in the owner.
std::atomic<uint64_t> g_mark{0};

// Of OwnerPage::claim.
enum : uint32_t { kUnclaimed, kMaking, kMade, kRefused };

// For tables that are made later.  Written by initialize().
struct {
  Limits limits;
  char folder[256];
  std::atomic<bool> follow_fork;  // relaxed: settled before any fork that matters
  bool put_off;
  bool keep_each;
  uint64_t run_token;
  ProcessIdentity owner;  // who called initialize()
} g_settings;

// Of a language's runtime; nullptr: there is none, or it is ending.  Relaxed: it is code.
std::atomic<bool (*)()> g_is_runtime_ending{nullptr};

std::atomic<uint64_t> g_call_at_ns{UINT64_MAX};  // relaxed: who is first takes it out

char g_arena_path[sizeof(g_settings.folder) + 128];
Arena g_arena;
HeapMap g_live;
StackTable g_stacks;
PeakTable g_peaks;
NameTable g_names;
ModuleTable g_modules;
CodeTable g_codes;
// How often tables were made; relaxed: changes before anybody has a new id.
std::atomic<uint32_t> g_tables{0};
HeapNames g_heap_names;

uint32_t raw(State state) {
  return static_cast<uint32_t>(state);
}

// For readers from outside.  Another change may come in between; whoever is last must leave the last state,
// hence sequential consistency: each store is followed by a look for a later state.
void publish_state() {
  uint32_t now;
  do {
    now = g_state.load(std::memory_order_seq_cst);
    g_arena.header().state.store(now, std::memory_order_seq_cst);
  } while (g_state.load(std::memory_order_seq_cst) != now);
}

// None of the small values that the sampler reserves.
uint64_t new_mark() {
  return platform::random_seed() | 16;
}

bool change_state(State from, State to) {
  uint32_t expected = raw(from);
  if (!g_state.compare_exchange_strong(expected, raw(to), std::memory_order_seq_cst)) {
    return false;
  }
  if (g_following.load(std::memory_order_acquire)) {
    publish_state();
  }
  return true;
}

// The tables are there and are this process's.
bool is_following() {
  return g_following.load(std::memory_order_acquire) && is_owner();
}

// FOLDER/memprof-PID-NAMESPACE-START.arena, or with -IMAGE behind it where `image` is not 0.
void name_arena(const ProcessIdentity& owner, uint64_t image) {
  char* at = g_arena_path;
  const auto append = [&at](const char* text) {
    const size_t length = strlen(text);
    memcpy(at, text, length + 1);
    at += length;
  };
  const auto append_number = [&append](const char* before, uint64_t number) {
    char digits[24];
    format_decimal(number, digits);
    append(before);
    append(digits);
  };
  append(g_settings.folder);
  append_number("/memprof-", owner.process_id);
  append_number("-", owner.process_namespace);
  append_number("-", owner.process_start);
  if (image != 0) {
    append_number("-", image);
  }
  append(".arena");
}

// Nothing here is this process's, and nothing will be unless it begins anew.
bool is_off() {
  return !is_owner() && !g_settings.follow_fork.load(std::memory_order_relaxed);
}

// nullptr: there is to be no file.  The name is of this process alone: the file of a dead one that had its id
// stays.  What this process was before it executed the program that it is now leaves nothing behind, unless a
// reader wants it.
const char* choose_arena_path(const ProcessIdentity& owner) {
  g_arena_path[0] = '\0';
  if (g_settings.folder[0] == '\0') {
    return nullptr;
  }
  name_arena(owner, 0);
  const bool is_only_ours = owner.process_start != 0 && !g_settings.keep_each;
  if (is_only_ours) {
    platform::file_remove(g_arena_path);
  }
  if (!is_only_ours || platform::file_exists(g_arena_path)) {  // another user's
    name_arena(owner, platform::random_seed() | 1);
  }
  return g_arena_path;
}

// By one thread, while no other reads what it writes: they look at it only after g_following and the mark.
// How allocations come here: counters of the platform, which may be older than the tables.
void store_hooks(Statistics& s) {
  const platform::Imports imports = platform::imports();
  s.hooks.store(g_hooks.load(std::memory_order_relaxed) ? kHooksInterposed
                : imports.patched != 0                  ? kHooksImports
                                                        : kHooksNone,
                std::memory_order_relaxed);
  s.import_modules.store(imports.modules, std::memory_order_relaxed);
  s.import_patched.store(imports.patched, std::memory_order_relaxed);
  s.import_refused.store(imports.refused, std::memory_order_relaxed);
  s.import_foreign.store(imports.foreign, std::memory_order_relaxed);
  s.import_unbound.store(imports.unbound, std::memory_order_relaxed);
  s.python.store(g_python.load(std::memory_order_relaxed), std::memory_order_relaxed);
  s.python_stacks.store(g_python_stacks.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

bool make_tables(const ProcessIdentity& owner) {
  const Arena arena = Arena::create(g_settings.limits, choose_arena_path(owner), owner, g_settings.run_token);
  if (!arena || arena.header().is_file == 0) {
    g_arena_path[0] = '\0';
  }
  if (!arena) {
    return false;
  }
  g_arena = arena;
  g_live = HeapMap(arena);
  g_stacks = StackTable(arena);
  g_peaks = PeakTable(arena);
  g_names = NameTable(arena);
  new (&g_modules) ModuleTable(arena, &g_names);
  g_codes = CodeTable(arena, &g_names);
  g_tables.fetch_add(1, std::memory_order_relaxed);
  g_heap_names.attach(arena);
  arena.header().rate_bytes.store(sampler_rate(), std::memory_order_relaxed);
  store_hooks(arena.header().statistics);
  return true;
}

// By one thread of a fork child.
void own_process() {
  platform::reset_in_child();
  const uint64_t value = new_mark();
  g_mark.store(value, std::memory_order_relaxed);
  g_page->mark.store(value, std::memory_order_release);
}

// In a fork child that is to have a profiler of its own and no part in its parent's, whose memory stays as it
// is.  The hooks see no owner, and do nothing, until the last store.
void begin_anew() {
  uint32_t expected = kUnclaimed;
  if (!g_page->claim.compare_exchange_strong(expected, kMaking, std::memory_order_acq_rel)) {
    // Another thread of the child is at it.
    while (!is_owner() && g_page->claim.load(std::memory_order_acquire) == kMaking) {
      platform::yield_thread();
    }
    return;
  }
  g_following.store(false, std::memory_order_relaxed);
  g_arena = Arena();
  g_arena_path[0] = '\0';
  g_heap_names.detach();
  g_sampled_filter.clear();
  g_call_at_ns.store(UINT64_MAX, std::memory_order_relaxed);
  forget_autostart();
  g_state.store(raw(State::kUninitialized), std::memory_order_release);
  own_process();
}

// Has a followed child a state of its parent's to go on in?
bool has_state_to_follow() {
  const uint32_t value = g_state.load(std::memory_order_acquire);
  return g_settings.follow_fork.load(std::memory_order_relaxed) && value != kInitializing &&
         value != raw(State::kUninitialized);
}

// The tables of a process that is followed and has none yet.  true: they are there.
[[gnu::noinline, gnu::cold]] bool make_own_tables() {
  const bool is_child = !is_owner();
  if (g_page == nullptr || platform::is_sandboxed() ||
      !(is_child ? g_settings.follow_fork.load(std::memory_order_relaxed) : g_settings.put_off)) {
    return false;
  }
  uint32_t expected = kUnclaimed;
  // acquire and release: a handler that interrupts us, and other threads, find it claimed.
  if (!g_page->claim.compare_exchange_strong(expected, kMaking, std::memory_order_acq_rel)) {
    return false;
  }
  const bool made = make_tables(is_child ? this_process() : g_settings.owner);
  if (made) {
    publish_state();
    if (is_child) {
      own_process();
      g_heap_names.publish_all();  // what came since make_tables, by who was no owner yet
    }
    g_following.store(true, std::memory_order_release);
  }
  g_page->claim.store(made ? kMade : kRefused, std::memory_order_release);
  return made;
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

bool take(const void* block, HeapMap::Token token, LiveSample* freed, const KeptFrom& kept = {}) {
  if (!g_live.erase(reinterpret_cast<uint64_t>(block), token, freed, kept)) {
    return false;
  }
  g_stacks.prefetch_freed(freed->stack_id);
  g_sampled_filter.unmark(freed->address);
  return true;
}

// After a runtime of a language has begun to end, for how long the end of the process is waited for: a
// program that goes on ends later, and by itself.
constexpr uint64_t kRuntimeEndNs = kRuntimeEndSeconds * 1000000000;

void begin_end(EndBegun by) {
  Ending& ending = g_arena.header().ending;
  const uint64_t now = platform::monotonic_ns();
  uint64_t begun = ending.begun_by.load(std::memory_order_acquire);
  const bool is_first = begun == static_cast<uint64_t>(EndBegun::kNot) ||
                        (begun == static_cast<uint64_t>(EndBegun::kByRuntime) && by == EndBegun::kByExit &&
                         now - ending.begun_ns.load(std::memory_order_relaxed) > kRuntimeEndNs);
  if (is_first) {
    ending.begun_ns.store(now, std::memory_order_relaxed);
    ending.begun_climb.store(g_arena.header().peak.climb.load(std::memory_order_relaxed),
                             std::memory_order_relaxed);
    // release pairs with the acquire loads here and in snapshot.cc.
    ending.begun_by.store(static_cast<uint64_t>(by), std::memory_order_release);
  }
}

// The first event after a runtime has begun to end finds it out: before, nothing was freed.
void look_for_end() {
  bool (*const is_ending)() = g_is_runtime_ending.load(std::memory_order_relaxed);
  if (is_ending != nullptr && is_ending()) {
    begin_end(EndBegun::kByRuntime);
    g_is_runtime_ending.store(nullptr, std::memory_order_relaxed);
  }
}

// What is freed now: is its record kept?
KeptFrom kept_from() {
  look_for_end();
  const Ending& ending = g_arena.header().ending;
  const auto by = static_cast<EndBegun>(ending.begun_by.load(std::memory_order_acquire));
  if (__builtin_expect(by == EndBegun::kNot, 1)) {
    return {};
  }
  const uint64_t begun_ns = ending.begun_ns.load(std::memory_order_relaxed);
  if (by == EndBegun::kByExit) {
    return {kKeptByExitBit, begun_ns};
  }
  return platform::monotonic_ns() - begun_ns > kRuntimeEndNs ? KeptFrom{}
                                                             : KeptFrom{kKeptByRuntimeBit, begun_ns};
}

void account_live(const LiveSample& sample, const Weight& weight) {
  Statistics& s = g_arena.header().statistics;
  g_peaks.add(sample);
  const uint64_t bytes = rounded_bytes(weight);
  raise(s.peak_weight_bytes, s.live_weight_bytes.fetch_add(bytes, std::memory_order_relaxed) + bytes);
}

void account_freed(const LiveSample& freed) {
  const uint64_t now = platform::monotonic_ns();
  const Weight weight = weigh(freed.size_bytes, freed.rate_bytes);
  g_peaks.take(freed, now);
  g_stacks.add_freed(freed.stack_id, freed.size_bytes, weight, now > freed.time_ns ? now - freed.time_ns : 0);
  g_arena.header().statistics.live_weight_bytes.fetch_sub(rounded_bytes(weight), std::memory_order_relaxed);
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

// Of a new stack.  true: it is to be walked again.
bool note_modules(const uint64_t* frames, uint32_t depth) {
  const uint64_t before = g_modules.size();
  const bool replaced = g_modules.note(frames, depth);
  for (uint64_t i = before; i < g_modules.size(); ++i) {
    if (const uint64_t code = g_modules.code_of(i)) {
      runtimes::module_was_entered(code);
    }
  }
  return replaced;
}

// Was the last stack too deep for Pending::kept?  Relaxed: then the next one may be, and is walked once.
std::atomic<bool> g_is_deep{false};

void walk_to(const platform::Entry& entry, uint64_t* frames, uint32_t max_depth, Pending* p) {
  p->walk = platform::capture_stack(entry, frames, max_depth);
  g_modules.tag(frames, p->walk.depth);
}

// How many frames there is room for: in `room`; where all are taken, on the stack; where it is short, too, in
// Pending::kept, and the walk says that it was cut.
uint32_t most_frames(const FrameRoom& room, const platform::Entry& entry) {
  const uint32_t max_depth = g_arena.header().limits.max_depth;
  return room.frames() != nullptr || max_depth < Pending::kMostKept ||
                 platform::has_stack_for_walk(entry, max_depth * sizeof(uint64_t))
             ? max_depth
             : Pending::kMostKept;
}

// On the stack of the function that it is used in.
#define MEMPROF_FRAMES_OF(room, max_depth, p)   \
  ((room).frames() != nullptr ? (room).frames() \
   : (max_depth) <= Pending::kMostKept          \
       ? (p)->kept                              \
       : static_cast<uint64_t*>(__builtin_alloca((max_depth) * sizeof(uint64_t))))

void walk_stack(const platform::Entry& entry, uint64_t* frames, uint32_t max_depth, Pending* p) {
  walk_to(entry, frames, max_depth, p);
  p->key = stack_key(frames, p->walk.depth, p->walk.reason, p->heap);
  const bool is_deep = p->walk.depth > Pending::kMostKept;
  if (g_is_deep.load(std::memory_order_relaxed) != is_deep) {
    g_is_deep.store(is_deep, std::memory_order_relaxed);
  }
}

// On the stack, where memory is warm.  false: it is deeper.
bool walk_shallow(const platform::Entry& entry, Pending* p) {
  const uint32_t max_depth = g_arena.header().limits.max_depth;
  if (g_is_deep.load(std::memory_order_relaxed) && max_depth > Pending::kMostKept) {
    return false;
  }
  walk_to(entry, p->kept, max_depth < Pending::kMostKept ? max_depth : Pending::kMostKept, p);
  p->key = stack_key(p->kept, p->walk.depth, p->walk.reason, p->heap);
  return max_depth <= Pending::kMostKept || p->walk.reason != platform::Walk::kDepthLimit;
}

[[gnu::noinline]] void walk_deep(const platform::Entry& entry, Pending* p) {
  const FrameRoom room;
  const uint32_t max_depth = most_frames(room, entry);
  uint64_t* const frames = MEMPROF_FRAMES_OF(room, max_depth, p);
  walk_stack(entry, frames, max_depth, p);
  if (p->walk.depth <= Pending::kMostKept && frames != p->kept) {
    memcpy(p->kept, frames, p->walk.depth * sizeof(uint64_t));
  }
}

// Asks memory for what end_allocation will look up, and that is all.  A function of its own: its frames are
// gone when the real malloc is called.
[[gnu::noinline]] void find_stack(const platform::Entry& entry, Pending* p) {
  if (!walk_shallow(entry, p)) {
    walk_deep(entry, p);
  }
  g_stacks.prefetch(p->key);
}

// true: it was new, and is to be walked again.
bool enter_frames(const uint64_t* frames, Pending* p) {
  bool is_new = false;
  p->stack = g_stacks.intern(p->key, frames, p->walk.depth, p->walk.reason, &is_new, p->heap);
  return is_new && note_modules(frames, p->walk.depth);
}

// Finds or makes the stack's entry.  Walks anew where the frames were too many to be kept, and once more
// where the walk went by what was remembered of a module that is gone.
[[gnu::noinline]] void enter_stack(const platform::Entry& entry, Pending* p) {
  if (p->walk.depth <= Pending::kMostKept) {
    if (!enter_frames(p->kept, p)) {
      return;
    }
    platform::forget_code();
  }
  const FrameRoom room;
  const uint32_t max_depth = most_frames(room, entry);
  uint64_t* const frames = MEMPROF_FRAMES_OF(room, max_depth, p);
  walk_stack(entry, frames, max_depth, p);
  if (enter_frames(frames, p)) {
    platform::forget_code();
    walk_stack(entry, frames, max_depth, p);
    enter_frames(frames, p);
  }
}

}  // namespace

void adopt_process() {
  if (g_page != nullptr) {
    return;
  }
  platform::OwnerPage* page = platform::make_owner_page();
  if (page != nullptr) {
    const uint64_t value = new_mark();
    page->mark.store(value, std::memory_order_release);
    g_page = page;
    sampler_set_mark(&page->mark);
    g_mark.store(value, std::memory_order_release);
  }
}

// Without a mark (the kernel is too old for one) a child cannot be told from its parent here; the fork
// handler of the platform then stops it.
bool is_owner() {
  // acquire pairs with the release in adopt_process: who knows the value reads the page.  In this order: a
  // child changes the value and then the page, and is no owner in between.
  const uint64_t owner = g_mark.load(std::memory_order_acquire);
  return owner == 0 || sampler_mark() == owner;
}

Status initialize(const Limits& limits, uint64_t rate_bytes, const Sharing& sharing) {
  if (!is_owner() && !has_state_to_follow()) {
    begin_anew();
  }
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
  g_settings.limits = limits;
  g_settings.follow_fork.store(sharing.follow_fork, std::memory_order_relaxed);
  g_settings.put_off = sharing.put_off && g_page != nullptr;
  g_settings.keep_each = sharing.keep_each;
  g_settings.run_token = sharing.run_token;
  g_settings.owner = this_process();
  const size_t length = sharing.folder != nullptr ? strlen(sharing.folder) : 0;
  const size_t copied = length < sizeof(g_settings.folder) ? length : 0;
  if (copied != 0) {
    memcpy(g_settings.folder, sharing.folder, copied);
  }
  g_settings.folder[copied] = '\0';
  set_rate(rate_bytes);
  if (!g_settings.put_off) {
    if (!make_tables(g_settings.owner)) {
      g_settings.follow_fork.store(false, std::memory_order_relaxed);
      if (g_page != nullptr) {
        g_page->claim.store(kRefused, std::memory_order_release);
      }
      g_state.store(raw(State::kUninitialized), std::memory_order_release);
      return Status::kNoMemory;
    }
    if (g_page != nullptr) {
      g_page->claim.store(kMade, std::memory_order_release);
    }
    g_arena.header().state.store(raw(State::kInitialized), std::memory_order_relaxed);
    g_following.store(true, std::memory_order_release);
  }
  platform::advise_sparse(const_cast<void*>(g_sampled_filter.memory()), SampledFilter::memory_bytes());
  g_state.store(raw(State::kInitialized), std::memory_order_release);
  return Status::kOk;
}

bool is_mine() {
  return is_owner() || (g_settings.follow_fork.load(std::memory_order_relaxed) && ensure_arena());
}

bool ensure_arena() {
  while (!is_following() && !make_own_tables()) {
    // acquire pairs with the release of the thread that is at it.
    if (g_page == nullptr || g_page->claim.load(std::memory_order_acquire) != kMaking) {
      return is_following();
    }
    platform::yield_thread();
  }
  return true;
}

Status start() {
  if (!is_mine()) {
    return Status::kForked;
  }
  if (!change_state(State::kInitialized, State::kActive) && !change_state(State::kStopped, State::kActive)) {
    return Status::kWrongState;
  }
  sampler_redraw();
  return Status::kOk;
}

Status stop() {
  if (!is_mine()) {
    return Status::kForked;
  }
  if (!change_state(State::kActive, State::kStopped)) {
    return Status::kWrongState;
  }
  return Status::kOk;
}

Status shutdown() {
  if (!is_mine()) {
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
  return value == kInitializing || is_off() ? State::kUninitialized : static_cast<State>(value);
}

bool is_off_in_child() {
  return g_state.load(std::memory_order_acquire) != raw(State::kUninitialized) && !is_mine();
}

Arena arena() {
  return is_following() || (state() == State::kTerminated && is_owner()) ? g_arena : Arena();
}

const char* arena_path() {
  return arena() ? g_arena_path : "";
}

void note_end_begun() {
  if (is_following()) {
    begin_end(EndBegun::kByExit);
  }
}

void watch_runtime_end(bool (*is_ending)()) {
  g_is_runtime_ending.store(is_ending, std::memory_order_relaxed);
}

void note_end() {
  if (is_following()) {
    g_peaks.note_end();
    g_arena.header().end_ns.store(platform::monotonic_ns(), std::memory_order_relaxed);
  }
}

void begin_allocation(const platform::Entry& entry, Pending* pending, uint32_t heap) {
  // Relaxed: a sample more or less at the edge of start and stop is none the worse.
  pending->recording =
      g_state.load(std::memory_order_relaxed) == raw(State::kActive) && (is_following() || make_own_tables());
  if (pending->recording) {
    pending->heap = heap;
    pending->is_walked = platform::has_stack_for_walk(entry, 0);
    if (__builtin_expect(pending->is_walked, 1)) {
      find_stack(entry, pending);
    }
  }
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
  const Weight weight = weigh(size_bytes, rate_bytes);
  const uint64_t time_ns = platform::monotonic_ns();
  if (pending->stack == StackTable::kNone || !g_stacks.is(pending->stack, pending->key)) {
    enter_stack(entry, pending);
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
  const LiveSample sample{address, size_bytes, rate_bytes, time_ns, pending->stack, current_thread_id()};
  if (!g_live.insert(sample)) {
    count_dropped(statistics.dropped_live_table, weight);
  } else {
    account_live(sample, weight);
    if (g_sampled_filter.mark(address)) count(statistics.filter_saturated);
  }
  platform::watch_imports(time_ns);
  uint64_t due_ns = g_call_at_ns.load(std::memory_order_relaxed);
  if (__builtin_expect(time_ns >= due_ns, 0) && !platform::is_sandboxed() &&
      g_call_at_ns.compare_exchange_strong(due_ns, UINT64_MAX, std::memory_order_relaxed)) {
    on_time(time_ns);
  }
}

// What the tables take while they can: as many samples, stacks and frames as most programs ever have.
void before_sandbox() {
  if (!is_mine() || !ensure_arena()) {
    return;
  }
  constexpr uint64_t kSamples = 10000;
  constexpr uint64_t kStacks = 1000;
  g_live.open_for(kSamples);
  g_stacks.open_for(kStacks);
  g_arena.commit_ahead(kStackSection, kStacks * sizeof(StackEntry));
  g_arena.commit_ahead(kPeakSection, kStacks * sizeof(StackPeak));
  g_arena.commit_ahead(kFrameSection, kStacks * 32 * sizeof(uint64_t));
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
  begin_allocation(entry, &pending, heap);
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
  if (!token) {
    return;
  }
  LiveSample freed;
  if (take(block, token, &freed, kept_from())) {
    account_freed(freed);
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

uint32_t register_heap(const char* name, uint32_t size_bytes) {
  const uint32_t id = g_heap_names.find_or_add(name, size_bytes);
  if (id != HeapNames::kUnnamed && is_owner()) {
    g_heap_names.publish(id);
  }
  return id;
}

bool has_heap(uint32_t id) {
  return g_heap_names.has(id);
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

void reset_peak() {
  if (is_following()) {
    Statistics& s = g_arena.header().statistics;
    // A sample that comes between the two raises the peak again, or is in what is stored.
    s.peak_weight_bytes.store(0, std::memory_order_relaxed);
    raise(s.peak_weight_bytes, s.live_weight_bytes.load(std::memory_order_relaxed));
    g_peaks.reset(platform::monotonic_ns());
  }
}

uint32_t intern_code(const CodeFacts& facts) {
  return is_following() ? g_codes.intern(facts) : CodeTable::kNone;
}

uint32_t tables_number() {
  return g_tables.load(std::memory_order_relaxed);
}

void code_was_unloaded() {
  if (is_following()) {
    g_modules.retire_unloaded();
  }
}

void note_imports() {
  if (is_following()) {
    store_hooks(g_arena.header().statistics);
  }
}

void note_python(uint32_t version, uint32_t state) {
  g_python.store(uint64_t{version} << 32 | state, std::memory_order_relaxed);
  note_imports();
}

void note_python_stacks(uint32_t state) {
  g_python_stacks.store(state, std::memory_order_relaxed);
  if (is_following()) {
    g_arena.header().statistics.python_stacks.store(state, std::memory_order_relaxed);
  }
}

void announce_hooks() {
  g_hooks.store(true, std::memory_order_relaxed);
}
bool has_hooks() {
  return g_hooks.load(std::memory_order_relaxed);
}

}  // namespace memprof::profiler
