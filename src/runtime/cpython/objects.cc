// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/objects.h"

#include <cstring>

#include "core/engine/facts.h"
#include "core/engine/runtimes.h"
#include "core/mappings/mappings.h"
#include "core/rates/fine_start.h"
#include "core/sampling/sampler.h"
#include "platform/modules.h"
#include "runtime/cpython/object_hooks.h"
#include "runtime/cpython/runtime.h"

namespace memprof::cpython {
namespace {

constexpr Domain kDomains[] = {Domain::kRaw, Domain::kMem, Domain::kObject};
constexpr uint32_t kMaxTables = 3;
// Of the process's first allocations, those that are events in any case: Python's main has chosen its
// allocators long before.
constexpr uint32_t kFirstEvents = 1000;

// The words of a table, as others may be writing them.
struct Table {
  uint64_t words[sizeof(Allocator) / sizeof(uint64_t)];
};
static_assert(sizeof(Table) == 5 * sizeof(uint64_t) && offsetof(Allocator, malloc) == sizeof(uint64_t));

struct Watched {
  std::atomic<uint64_t> table;     // address; 0: there is none.  Release; acquire in look_at_objects.
  std::atomic<uint64_t> expected;  // its word `malloc`.  Relaxed.
};

std::atomic<bool> g_objects_busy{false};  // acquire and release; who has it touches what follows
const Interpreter* g_attached = nullptr;
std::atomic<const ThreadSampler*> g_attacher{nullptr};  // the thread that did; relaxed
Allocator g_malloc;                       // the functions that lead to malloc; nullptr: not known
std::atomic<uint32_t> g_object_state{0};  // ObjectState; relaxed
Watched g_watched[kMaxTables];
uint32_t g_watched_count = 0;
uint64_t g_data_start = 0;  // the interpreter's variables
uint64_t g_data_limit = 0;

bool try_enter() {
  return !g_objects_busy.exchange(true, std::memory_order_acquire);
}
void leave() {
  g_objects_busy.store(false, std::memory_order_release);
}

// Of an interpreter's data, whatever lies there: a sanitizer would ask what a word belongs to.
__attribute__((no_sanitize_address)) uint64_t load_word(uint64_t address) {
  return __atomic_load_n(reinterpret_cast<const uint64_t*>(address), __ATOMIC_RELAXED);
}

Allocator load_table(uint64_t address) {
  Table table;
  for (uint64_t i = 0; i < 5; ++i) {
    table.words[i] = load_word(address + i * sizeof(uint64_t));
  }
  Allocator allocator;
  memcpy(&allocator, &table, sizeof(allocator));
  return allocator;
}

// One word after the other, and not ctx, which stays: a thread that reads meanwhile finds functions that fit
// together.  What takes blocks comes before what gives them.
void store_hooks(uint64_t address, const Allocator& hooks) {
  Table table;
  memcpy(&table, &hooks, sizeof(table));
  for (uint64_t i = 4; i > 0; --i) {
    __atomic_store_n(reinterpret_cast<uint64_t*>(address + i * sizeof(uint64_t)), table.words[i],
                     __ATOMIC_RELEASE);
  }
}

// Does an allocator's raw domain end in malloc, and that in our hooks?
bool reaches_malloc_hooks(const Allocator& raw) {
  const MuteScope mute;
  const uint64_t before = t_sampler.count;
  void* block = raw.malloc(raw.ctx, 1);
  const bool reached = t_sampler.count != before;
  raw.free(raw.ctx, block);
  return reached;
}

bool is_initialized(const Interpreter& python) {
  return python.is_initialized != nullptr && python.is_initialized() != 0;
}

// What Python calls the allocators that it has; nullptr: it has no name for them.  3.12 waits for a lock
// that is made by the initialization; but before that its allocators are those that it was compiled with, and
// pymalloc serves both domains by the same functions.
const char* name_of_allocators(const Interpreter& python, const Allocator& raw) {
  const bool is_3_12 = python.is_at_least(3, 12) && !python.is_at_least(3, 13);
  if (!is_3_12 || is_initialized(python)) {
    return python.current_allocator_name != nullptr ? python.current_allocator_name() : nullptr;
  }
  Allocator mem;
  Allocator object;
  python.get_allocator(Domain::kMem, &mem);
  python.get_allocator(Domain::kObject, &object);
  return mem.ctx != nullptr || object.ctx != nullptr || !is_same_functions(mem, object) ? nullptr
         : is_same_functions(mem, raw)                                                  ? "malloc"
                                                                                        : "pymalloc";
}

enum class Plan { kNothing, kByMalloc, kPool, kWhole, kCareful };

// Of an allocator that was there before us.
Plan plan_of(Domain domain, const char* name, bool raw_reaches) {
  if (domain == Domain::kRaw) {
    return raw_reaches ? Plan::kNothing : Plan::kWhole;
  }
  return name == nullptr                 ? Plan::kCareful
         : strcmp(name, "pymalloc") == 0 ? Plan::kPool
         : strcmp(name, "mimalloc") == 0 ? Plan::kWhole
         : strcmp(name, "malloc") == 0   ? Plan::kByMalloc
                                         : Plan::kCareful;
}

// Large blocks of pymalloc come from the raw domain: it lends where malloc's hooks see those.  The few samples of a rate
// that starts fine may take 513 bytes each.
Serving pool_serving(bool raw_reaches) {
  return raw_reaches && fine_start::lasting_rate() >= kMinLenderRateBytes ? Serving::kLender : Serving::kPool;
}

Serving serving_of(Plan plan, bool raw_reaches) {
  return plan == Plan::kPool    ? pool_serving(raw_reaches)
         : plan == Plan::kWhole ? Serving::kWhole
                                : Serving::kCareful;
}

// Where a table lies that holds exactly these hooks: the variables of the interpreter are passed through
// once.
void find_tables(const Allocator& hooks) {
  Table wanted;
  memcpy(&wanted, &hooks, sizeof(wanted));
  const uint64_t wanted_malloc = wanted.words[1];
  if (g_data_limit < g_data_start + sizeof(Table)) {
    return;
  }
  const uint64_t last = g_data_limit - sizeof(Table);
  for (uint64_t at = g_data_start; g_watched_count < kMaxTables; at += sizeof(uint64_t)) {
    // A megabyte of variables: nearly all are passed over here.
    while (at <= last && load_word(at + sizeof(uint64_t)) != wanted_malloc) {
      at += sizeof(uint64_t);
    }
    if (at > last) {
      return;
    }
    bool is_known = false;
    for (uint32_t i = 0; i < g_watched_count; ++i) {
      is_known = is_known || g_watched[i].table.load(std::memory_order_relaxed) == at;
    }
    const Allocator found = load_table(at);
    if (!is_known && memcmp(&found, &hooks, sizeof(found)) == 0) {
      Watched& watched = g_watched[g_watched_count++];
      watched.expected.store(wanted_malloc, std::memory_order_relaxed);
      watched.table.store(at, std::memory_order_release);
    }
  }
}

void find_data(const Interpreter& python) {
  const void* const variable = python.runtime != nullptr ? python.runtime : python.code_type;
  platform::ModuleInfo info;
  g_data_start = g_data_limit = 0;
  if (variable != nullptr && platform::find_module(reinterpret_cast<uint64_t>(variable), &info)) {
    g_data_start = info.start;
    g_data_limit = info.limit;
  }
}

// Does an allocator call our hooks?  Wrappers keep what they wrap in what their context points to.
bool wraps_hooks(const Allocator& allocator) {
  constexpr uint64_t kMaxWords = 8;
  const uint64_t context = reinterpret_cast<uint64_t>(allocator.ctx);
  if (context % sizeof(uint64_t) != 0 || context < g_data_start || context >= g_data_limit) {
    return false;
  }
  for (uint64_t i = 0; i < kMaxWords && context + (i + 1) * sizeof(uint64_t) <= g_data_limit; ++i) {
    if (is_object_hook(load_word(context + i * sizeof(uint64_t)))) {
      return true;
    }
  }
  return false;
}

void forget_tables() {
  runtimes::look_in_events(kRuntime, false);
  g_watched_count = 0;
  for (Watched& watched : g_watched) {
    watched.table.store(0, std::memory_order_relaxed);
  }
}

void set_state(ObjectState state) {
  g_object_state.store(static_cast<uint32_t>(state), std::memory_order_relaxed);
  const Interpreter* python = g_attached;
  profiler::note_runtime(kRuntimeId, python != nullptr ? python->version >> 16 : 0,
                         static_cast<uint32_t>(state));
}

enum class Installed { kHooks, kNone, kRefused };

// `hooks`: those that were put into the table now, else untouched.
Installed install(const Interpreter& python, Domain domain, const char* name, bool raw_reaches,
                  Allocator* hooks) {
  Allocator now;
  python.get_allocator(domain, &now);
  Serving serving = Serving::kPool;
  if (const HookSet* there = set_of_hooks(now)) {
    // A rate that became small: samples stay in the pool from now on.  A rate that became large changes
    // nothing, because there may be samples in the pool whose free must be seen.
    if (there->serving != Serving::kLender || pool_serving(raw_reaches) == Serving::kLender) {
      return Installed::kHooks;
    }
    void* const context = now.ctx;
    now = there->next;
    now.ctx = context;
  } else if (wraps_hooks(now)) {
    return Installed::kHooks;
  } else {
    const Plan plan = plan_of(domain, name, raw_reaches);
    if (plan == Plan::kNothing || plan == Plan::kByMalloc) {
      return Installed::kNone;
    }
    serving = serving_of(plan, raw_reaches);
  }
  const HookSet* set = hook_set_for(now, serving);
  if (set == nullptr) {
    return Installed::kRefused;
  }
  *hooks = hooked(now, *set);
  python.set_allocator(domain, hooks);
  return Installed::kHooks;
}

// Can it be only this thread that is writing a table now?  A table that another one is just writing would end
// as a mixture of its words and ours.  Python replaces allocators in its initialization, and then under the
// GIL.
bool is_writer(const Interpreter& python) {
  if (!is_initialized(python) || python.unchecked_thread_state == nullptr ||
      python.gil_state_thread_state == nullptr) {
    return g_attacher.load(std::memory_order_relaxed) == &t_sampler;
  }
  const void* const running = python.unchecked_thread_state();
  // Before 3.12 it is the one of whoever has the GIL.
  return running != nullptr && (python.is_at_least(3, 12) || running == python.gil_state_thread_state());
}

// pymalloc's objects are seen: the arenas that it maps for them are no mappings of the program's.  The function that
// maps one calls mmap from within its first instructions.
void note_arenas(const Interpreter& python) {
  constexpr uint64_t kMaxCodeBytes = 160;
  static uint64_t noted = 0;  // by one thread at a time
  ArenaAllocator arenas{};
  if (python.get_arena_allocator != nullptr) {
    python.get_arena_allocator(&arenas);
  }
  const uint64_t code = reinterpret_cast<uint64_t>(arenas.alloc);
  if (code != 0 && code != noted) {
    noted = code;
    mappings::add_allocator(code, code + kMaxCodeBytes);
  }
}

// What was found in a table in place of the hooks.
void repair(Watched& watched) {
  const uint64_t address = watched.table.load(std::memory_order_relaxed);
  const Allocator now = load_table(address);
  const HookSet* set = set_of_hooks(now);
  if (set == nullptr && !wraps_hooks(now)) {
    if (g_malloc.malloc != nullptr && is_same_functions(now, g_malloc)) {
      set_state(ObjectState::kByMalloc);
    } else {
      set = existing_hook_set(now, Serving::kPool);
      set = set != nullptr ? set : existing_hook_set(now, Serving::kLender);
      set = set != nullptr ? set : existing_hook_set(now, Serving::kWhole);
      set = set != nullptr ? set : hook_set_for(now, Serving::kCareful);
      if (set == nullptr) {
        set_state(ObjectState::kRefused);
      } else {
        store_hooks(address, hooked(now, *set));
        set_state(ObjectState::kHooked);
      }
    }
  } else {
    set_state(ObjectState::kHooked);
  }
  watched.expected.store(load_word(address + sizeof(uint64_t)), std::memory_order_relaxed);
}

}  // namespace

void attach_objects(const Interpreter& python) {
  if (python.get_allocator == nullptr || !try_enter()) {
    return;
  }
  if (g_attached != &python) {
    forget_tables();
    find_data(python);
  }
  const bool is_first = g_attached == nullptr;
  g_attached = &python;
  g_attacher.store(&t_sampler, std::memory_order_relaxed);
  Allocator raw;
  python.get_allocator(Domain::kRaw, &raw);
  const bool raw_reaches = reaches_malloc_hooks(raw);
  const char* name = name_of_allocators(python, raw);
  if (raw_reaches && raw.ctx == nullptr) {
    g_malloc = raw;
  }
  bool is_refused = false;
  bool is_hooked = false;
  Allocator installed[kMaxTables]{};
  uint32_t count = 0;
  for (const Domain domain : kDomains) {
    Allocator& here = installed[count];
    const Installed result = install(python, domain, name, raw_reaches, &here);
    is_refused = is_refused || result == Installed::kRefused;
    is_hooked = is_hooked || result == Installed::kHooks;
    const bool is_as_before = count != 0 && memcmp(&here, &installed[count - 1], sizeof(here)) == 0;
    count += here.malloc != nullptr && !is_as_before ? 1 : 0;
  }
  for (uint32_t i = 0; i < count; ++i) {
    find_tables(installed[i]);
  }
  if (is_hooked) {
    note_arenas(python);
  }
  set_state(is_refused ? ObjectState::kRefused : is_hooked ? ObjectState::kHooked : ObjectState::kByMalloc);
  if (g_watched_count != 0) {
    if (is_first && !is_initialized(python)) {
      runtimes::g_events_wanted.store(kFirstEvents, std::memory_order_relaxed);
      sampler_forget();
    }
    runtimes::look_in_events(kRuntime, true);
  }
  leave();
}

void look_at_objects() {
  const Interpreter* const python = interpreter();
  if (python == nullptr) {
    return;
  }
  for (Watched& watched : g_watched) {
    // acquire pairs with the release in find_tables.
    const uint64_t table = watched.table.load(std::memory_order_acquire);
    if (table == 0 ||
        load_word(table + sizeof(uint64_t)) == watched.expected.load(std::memory_order_relaxed)) {
      continue;
    }
    if (is_writer(*python) && try_enter()) {
      if (watched.table.load(std::memory_order_relaxed) == table) {
        repair(watched);
      }
      leave();
    }
  }
}

void check_objects() {
  if (interpreter() == nullptr && g_attached != nullptr && try_enter()) {
    g_attached = nullptr;
    forget_tables();
    forget_hook_sets();
    leave();
  }
}

void reset_objects_in_child() {
  leave();
}

ObjectState object_state() {
  return static_cast<ObjectState>(g_object_state.load(std::memory_order_relaxed));
}

}  // namespace memprof::cpython
