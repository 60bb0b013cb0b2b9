// SPDX-License-Identifier: Apache-2.0
#include "core/counts/allocator_counts.h"

#include <cstddef>

#include "core/sampling/sampler.h"
#include "platform/clock.h"
#include "platform/imports.h"
#include "platform/modules.h"
#include "platform/process.h"
#include "platform/stack.h"

namespace memprof::counts {

Source g_malloc{};

namespace {

std::atomic<ArenaHeader*> g_header{nullptr};  // release in attach(), acquire
std::atomic<bool> g_is_on{true};
std::atomic<uint32_t> g_places{1};  // a bit each that is taken; the lowest is malloc's

using Mallctl = int (*)(const char*, void*, size_t*, void*, size_t);
using NumericProperty = int (*)(const char*, size_t*);

class Jemalloc {
 public:
  explicit Jemalloc(const void* function)
      : mallctl_(reinterpret_cast<Mallctl>(reinterpret_cast<uintptr_t>(function))) {}

  // The others answer as of this call.
  bool refresh() const {
    uint64_t epoch = 1;
    size_t size = sizeof(epoch);
    return mallctl_("epoch", &epoch, &size, &epoch, size) == 0;
  }
  bool get(const char* name, size_t* value) const {
    size_t size = sizeof(*value);
    *value = 0;
    return mallctl_(name, value, &size, nullptr, 0) == 0 && size == sizeof(*value);
  }

 private:
  Mallctl mallctl_;
};

void publish(CountedAllocator* to, uint64_t state, uint64_t used, uint64_t free, uint64_t tables) {
  to->state.store(state, std::memory_order_relaxed);
  to->used_bytes.store(used, std::memory_order_relaxed);
  to->free_bytes.store(free, std::memory_order_relaxed);
  to->tables_bytes.store(tables, std::memory_order_relaxed);
}

uint64_t difference(uint64_t more, uint64_t less) {
  return more > less ? more - less : 0;
}

bool ask_jemalloc(const void* function, CountedAllocator* answer) {
  const Jemalloc jemalloc(function);
  size_t allocated = 0;
  size_t active = 0;
  size_t cached = 0;
  size_t dirty = 0;
  size_t page = 0;
  size_t tables = 0;
  // Built without statistics it has the first of them only.
  if (!jemalloc.refresh() || !jemalloc.get("stats.allocated", &allocated) ||
      !jemalloc.get("stats.active", &active) || !jemalloc.get("stats.metadata", &tables) ||
      !jemalloc.get("arenas.page", &page)) {
    return false;
  }
  // 4096: all arenas together (5.0 and later).  Blocks in the caches of threads count as allocated.
  jemalloc.get("stats.arenas.4096.tcache_bytes", &cached);
  jemalloc.get("stats.arenas.4096.pdirty", &dirty);
  publish(answer, kResidentJemalloc, difference(allocated, cached),
          difference(active, allocated) + cached + uint64_t{dirty} * page, tables);
  return true;
}

bool ask_tcmalloc(const void* function, CountedAllocator* answer) {
  const auto get = reinterpret_cast<NumericProperty>(reinterpret_cast<uintptr_t>(function));
  size_t used = 0;
  size_t heap = 0;
  size_t physical = 0;
  if (get("generic.current_allocated_bytes", &used) == 0 || get("generic.heap_size", &heap) == 0) {
    return false;
  }
  // What is neither given back nor in use is in the page heap and the caches: central, transfer and of threads.
  // With its tables and without what it gave back.
  const bool has_physical = get("generic.total_physical_bytes", &physical) != 0;
  publish(answer, kResidentTcmalloc, used, difference(heap, used),
          has_physical ? difference(physical, heap) : 0);
  return true;
}

// The code of the module that malloc's hooks go on to: of an executable that is all of its code, so that one is asked
// by its hooks inside only.
platform::ModuleInfo g_malloc_module;  // written by who has taken g_malloc

bool is_in_malloc_module(const void* module, uint64_t address) {
  const auto* m = static_cast<const platform::ModuleInfo*>(module);
  return m->start <= address && address < m->limit;
}

// Of the library that malloc's hooks go on to.
void find_malloc(Source* source) {
  const uint64_t malloc = platform::allocator_behind_hooks();
  const char* const mallctl[] = {"mallctl"};
  const char* const property[] = {"MallocExtension_GetNumericProperty"};
  const void* found = nullptr;
  if (malloc != 0 && platform::find_exports_at(malloc, mallctl, 1, &found) && found != nullptr) {
    source->interface = Interface::kMallctl;
  } else if (malloc != 0 && platform::find_exports_at(malloc, property, 1, &found) && found != nullptr) {
    source->interface = Interface::kNumericProperty;
  }
  source->function = found;
  if (platform::find_module(malloc, &g_malloc_module)) {
    source->code = {is_in_malloc_module, &g_malloc_module};
  }
}

bool take_place(Source* source) {
  if (source == &g_malloc) {
    source->place = 1;
  } else if (source->place == 0) {
    uint32_t taken = g_places.load(std::memory_order_relaxed);
    uint32_t place = 0;
    do {
      place = static_cast<uint32_t>(__builtin_ctz(~taken));
    } while (place < CountedState::kPlaces &&
             !g_places.compare_exchange_weak(taken, taken | 1u << place, std::memory_order_acquire,
                                             std::memory_order_relaxed));
    source->place = place < CountedState::kPlaces ? place + 1 : 0;
  }
  return source->place != 0;
}

bool has_moved(const Source& source, uint64_t live_bytes) {
  const uint64_t before = source.live_bytes.load(std::memory_order_relaxed);
  const uint64_t step = before / kMoved > kMinMoveBytes ? before / kMoved : kMinMoveBytes;
  return live_bytes >= before + step || live_bytes + step <= before;
}

// By who has taken the source.  When it is due again; UINT64_MAX: never.
uint64_t ask_now(Source* source, uint64_t now_ns, uint64_t live_bytes, const platform::Entry& entry,
                 CountedState* state) {
  if (source == &g_malloc && source->interface == Interface::kNone) {
    find_malloc(source);
  }
  if (source->interface == Interface::kNone || source->code.contains == nullptr || !take_place(source)) {
    return UINT64_MAX;
  }
  const uint64_t earned_ns = now_ns > source->last_ns ? (now_ns - source->last_ns) / kShare : 0;
  const uint64_t credit_ns = source->credit_ns + earned_ns;
  source->credit_ns = credit_ns < kMaxCreditNs ? credit_ns : kMaxCreditNs;
  source->last_ns = now_ns;
  if (source->credit_ns < source->cost_ns) {
    return now_ns + (source->cost_ns - source->credit_ns) * kShare;
  }
  source->live_bytes.store(live_bytes, std::memory_order_relaxed);
  if (platform::may_be_called_by(entry, source->code)) {
    return now_ns + kPauseNs;
  }
  const MuteScope mute;
  const uint64_t start_cpu_ns = platform::thread_cpu_ns();
  CountedAllocator& place = state->allocators[source->place - 1];
  if (!ask(source->interface, source->function, &place)) {
    return UINT64_MAX;
  }
  place.time_ns.store(now_ns, std::memory_order_relaxed);
  // Processor time: a thread that waits for a processor meanwhile does not ask.  One answer that takes long counts in part.
  const uint64_t usual_ns = source->cost_ns != 0 ? source->cost_ns : kFirstCostNs;
  const uint64_t spent_ns = platform::thread_cpu_ns() - start_cpu_ns;
  const uint64_t took_ns = spent_ns < 4 * usual_ns ? spent_ns : 4 * usual_ns;
  const uint64_t cost_ns = (3 * usual_ns + took_ns) / 4 + 1;
  source->cost_ns = cost_ns < kMaxCreditNs ? cost_ns : kMaxCreditNs;
  source->credit_ns -= took_ns < source->credit_ns ? took_ns : source->credit_ns;
  return platform::monotonic_ns() + kPauseNs;
}

}  // namespace

bool ask(Interface interface, const void* function, CountedAllocator* answer) {
  switch (interface) {
    case Interface::kMallctl:
      return ask_jemalloc(function, answer);
    case Interface::kNumericProperty:
      return ask_tcmalloc(function, answer);
    case Interface::kNone:
      break;
  }
  return false;
}

void ask_when_due(Source* source, uint64_t now_ns, const platform::Entry& entry) {
  uint64_t due_ns = source->due_ns.load(std::memory_order_relaxed);
  ArenaHeader* const header = g_header.load(std::memory_order_acquire);
  if (due_ns == UINT64_MAX || header == nullptr || !g_is_on.load(std::memory_order_relaxed)) {
    return;
  }
  const uint64_t live_bytes = header->statistics.live_weight_bytes.load(std::memory_order_relaxed);
  if ((now_ns < due_ns && !has_moved(*source, live_bytes)) || platform::is_sandboxed() ||
      platform::is_on_signal_stack() ||
      !source->due_ns.compare_exchange_strong(due_ns, UINT64_MAX, std::memory_order_acquire)) {
    return;
  }
  if (due_ns == 0) {
    source->last_ns = now_ns;
    source->credit_ns = kMaxCreditNs;
    source->cost_ns = 0;
    source->live_bytes.store(kSmallBytes - kSmallBytes / kMoved, std::memory_order_relaxed);
    due_ns = now_ns + kPauseNs;
  }
  if (now_ns >= due_ns || live_bytes >= kSmallBytes || source->cost_ns != 0) {
    due_ns = ask_now(source, now_ns, live_bytes, entry, &header->counted);
  }
  source->due_ns.store(due_ns, std::memory_order_release);
}

void configure(bool is_on) {
  g_is_on.store(is_on, std::memory_order_relaxed);
}

void forget(Source* source) {
  if (source->place == 0) {
    return;
  }
  const uint32_t place = source->place - 1;
  ArenaHeader* const header = g_header.load(std::memory_order_acquire);
  if (header != nullptr) {
    header->counted.allocators[place].time_ns.store(0, std::memory_order_relaxed);
  }
  source->place = 0;
  g_places.fetch_and(~(1u << place), std::memory_order_release);
}

void attach(const Arena& arena) {
  g_header.store(&arena.header(), std::memory_order_release);
  g_malloc.due_ns.store(0, std::memory_order_relaxed);
}

AllocatorCounts read(const CountedState& state) {
  AllocatorCounts sum;
  for (uint32_t i = 0; i < CountedState::kPlaces; ++i) {
    const CountedAllocator& a = state.allocators[i];
    const uint64_t time_ns = a.time_ns.load(std::memory_order_relaxed);
    if (time_ns == 0) {
      continue;
    }
    sum.time_ns = sum.time_ns == 0 || time_ns < sum.time_ns ? time_ns : sum.time_ns;
    sum.has_malloc = sum.has_malloc || i == 0;
    sum.state |= a.state.load(std::memory_order_relaxed) & (kResidentJemalloc | kResidentTcmalloc);
    sum.used_bytes += a.used_bytes.load(std::memory_order_relaxed);
    sum.free_bytes += a.free_bytes.load(std::memory_order_relaxed);
    sum.tables_bytes += a.tables_bytes.load(std::memory_order_relaxed);
  }
  return sum;
}

}  // namespace memprof::counts
