// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ownership.h"

#include <cstring>
#include <new>

#include "core/counts/allocator_counts.h"
#include "core/engine/facts.h"
#include "core/engine/recorder.h"
#include "core/engine/runtimes.h"
#include "core/mappings/mappings.h"
#include "core/rates/budget.h"
#include "core/rates/fine_start.h"
#include "core/rates/rates.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "format/files/arena_name.h"
#include "platform/clock.h"
#include "platform/files.h"
#include "platform/memory.h"
#include "platform/process.h"

namespace memprof::profiler {

std::atomic<uint32_t> g_state{0};
std::atomic<bool> g_following{false};

Arena g_arena;
HeapMap g_live;
StackTable g_stacks;
PeakTable g_peaks;
NameTable g_names;
ModuleTable g_modules;
CodeTable g_codes;
TableSweep g_sweep;
HeapNames g_heap_names;

namespace {

platform::OwnerPage* g_page = nullptr;

// Of OwnerPage::claim.
enum : uint32_t { kUnclaimed, kMaking, kMade, kRefused };
// Who is at it; relaxed: only a thread that asks for itself has to be right.
std::atomic<uint32_t> g_maker{0};

// For tables that are made later.  Written by adopt_settings().
struct {
  Limits limits;
  char folder[256];
  std::atomic<bool> follow_fork;  // relaxed: settled before any fork that matters
  bool defer_tables;
  bool keep_each;
  uint64_t memory_limit_bytes;
  uint64_t run_token;
  ProcessIdentity owner;  // who called initialize()
} g_settings;

char g_arena_path[sizeof(g_settings.folder) + 1 + kMaxArenaNameBytes];
// How often tables were made; relaxed: changes before anybody has a new id.
std::atomic<uint32_t> g_tables_made{0};

// For readers from outside.  Another change may come in between; whoever is last must leave the last state,
// hence sequential consistency: each store is followed by a look for a later state.
void publish_state() {
  uint32_t now;
  do {
    now = g_state.load(std::memory_order_seq_cst);
    g_arena.header().state.store(now, std::memory_order_seq_cst);
  } while (g_state.load(std::memory_order_seq_cst) != now);
}

// `image`: 0, or what tells this file from those of programs that the process executed before.
void name_arena(const ProcessIdentity& owner, uint64_t image) {
  const size_t length = strlen(g_settings.folder);
  memcpy(g_arena_path, g_settings.folder, length);
  g_arena_path[length] = '/';
  write_arena_name({owner.process_id, owner.process_namespace, owner.process_start, image},
                   g_arena_path + length + 1);
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
bool make_tables(const ProcessIdentity& owner) {
  const uint64_t max = g_settings.memory_limit_bytes != kMemoryLimitOfGroup
                           ? g_settings.memory_limit_bytes
                           : default_memory_limit(platform::memory_limit());
  const Arena arena = Arena::create(limits_within(g_settings.limits, max), choose_arena_path(owner), owner,
                                    g_settings.run_token);
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
  new (&g_modules) ModuleTable(arena, &g_names, runtimes::module_was_entered);
  g_codes = CodeTable(arena, &g_names);
  g_sweep.attach(arena, &g_stacks, &g_modules, &g_codes);
  g_tables_made.fetch_add(1, std::memory_order_relaxed);
  g_heap_names.attach(arena);
  mappings::attach(arena);
  rates::begin_log(&arena.header(), budget::is_on() || fine_start::is_wanted());
  budget::attach(arena);
  counts::attach(arena);
  store_facts(&arena.header());
  store_command_line();
  return true;
}

// None of the small values that the sampler reserves.
uint64_t new_mark() {
  return platform::random_seed() | 16;
}

// By one thread of a fork child.
void own_process() {
  platform::reset_in_child();
  const uint64_t value = new_mark();
  g_mark.store(value, std::memory_order_relaxed);
  g_page->mark.store(value, std::memory_order_release);
}

// Another thread is making them: threads that begin together have their first samples at once.  A handler that interrupts
// the maker does not wait for it.  Bounded, since the maker may have been stopped.
bool wait_for_tables() {
  constexpr uint64_t kLongestNs = 50'000'000;
  const uint32_t thread = platform::thread_id();
  const uint64_t begun_ns = platform::monotonic_ns();
  // acquire pairs with the release of the thread that is at it.
  while (g_page->claim.load(std::memory_order_acquire) == kMaking) {
    if (g_maker.load(std::memory_order_relaxed) == thread ||
        platform::monotonic_ns() - begun_ns > kLongestNs) {
      return false;
    }
    platform::yield_thread();
  }
  return is_following();
}

}  // namespace

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

bool is_off() {
  return !is_owner() && !g_settings.follow_fork.load(std::memory_order_relaxed);
}

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
  call_at(UINT64_MAX);
  forget_autostart();
  g_state.store(raw(State::kUninitialized), std::memory_order_release);
  own_process();
}

bool has_state_to_follow() {
  const uint32_t value = g_state.load(std::memory_order_acquire);
  return g_settings.follow_fork.load(std::memory_order_relaxed) && value != kInitializing &&
         value != raw(State::kUninitialized);
}

void adopt_settings(const Limits& limits, const Sharing& sharing) {
  g_settings.limits = limits;
  g_settings.follow_fork.store(sharing.follow_fork, std::memory_order_relaxed);
  g_settings.defer_tables = sharing.defer_tables && g_page != nullptr;
  g_settings.keep_each = sharing.keep_each;
  g_settings.memory_limit_bytes = sharing.memory_limit_bytes;
  g_settings.run_token = sharing.run_token;
  g_settings.owner = this_process();
  const size_t length = sharing.folder != nullptr ? strlen(sharing.folder) : 0;
  const size_t copied = length < sizeof(g_settings.folder) ? length : 0;
  if (copied != 0) {
    memcpy(g_settings.folder, sharing.folder, copied);
  }
  g_settings.folder[copied] = '\0';
}

bool make_first_tables() {
  if (g_settings.defer_tables) {
    return true;
  }
  const bool made = make_tables(g_settings.owner);
  if (made) {
    g_arena.header().state.store(raw(State::kInitialized), std::memory_order_relaxed);
    g_following.store(true, std::memory_order_release);
  } else {
    g_settings.follow_fork.store(false, std::memory_order_relaxed);
  }
  if (g_page != nullptr) {
    g_page->claim.store(made ? kMade : kRefused, std::memory_order_release);
  }
  return made;
}

[[gnu::noinline, gnu::cold]] bool make_own_tables() {
  const bool is_child = !is_owner();
  if (g_page == nullptr || platform::is_sandboxed() ||
      !(is_child ? g_settings.follow_fork.load(std::memory_order_relaxed) : g_settings.defer_tables)) {
    return false;
  }
  uint32_t expected = kUnclaimed;
  // acquire and release: a handler that interrupts us, and other threads, find it claimed.
  if (!g_page->claim.compare_exchange_strong(expected, kMaking, std::memory_order_acq_rel)) {
    return expected == kMaking && wait_for_tables();
  }
  g_maker.store(platform::thread_id(), std::memory_order_relaxed);
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

bool is_owner() {
  return owns();
}

bool become_owner() {
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

bool remains_off() {
  return g_state.load(std::memory_order_acquire) != raw(State::kUninitialized) && !become_owner();
}

uint32_t tables_epoch() {
  const uint32_t made = g_tables_made.load(std::memory_order_relaxed);
  return made + static_cast<uint32_t>(
                    is_following() ? g_arena.header().sweep.number.load(std::memory_order_relaxed) : 0);
}

const char* own_arena_path() {
  return g_arena_path;
}

}  // namespace memprof::profiler
