// SPDX-License-Identifier: Apache-2.0
#include "core/mappings/mappings.h"

#include <new>

#include "core/engine/ending.h"
#include "core/engine/ownership.h"
#include "core/engine/recorder.h"
#include "core/mappings/allocator_code.h"
#include "core/mappings/mapping_log.h"
#include "core/mappings/mapping_measure.h"
#include "core/sampling/sampler.h"
#include "platform/clock.h"
#include "platform/memory_areas.h"
#include "platform/process.h"

namespace memprof::mappings {

std::atomic<bool> g_is_on{false};

namespace {

constexpr uint32_t kMaxAllocators = 8;

bool g_is_wanted = false;
// Both are there before any code runs, and no constructor makes them anew.
MappingTable g_table;
MappingLog g_log;
uint32_t g_heap = 0;
std::atomic<uint64_t> g_ticket{1};
std::atomic<bool> g_has_ended{false};

struct Code {
  std::atomic<uint64_t> start;
  std::atomic<uint64_t> limit;  // release, after `start`
};
Code g_allocators[kMaxAllocators];
std::atomic<uint32_t> g_allocator_count{0};
AllocatorCode g_allocator_functions;

bool is_in_functions(const void*, uint64_t address) {
  return g_allocator_functions.contains(address);
}

MappingState& state() {
  return profiler::g_arena.header().mappings;
}

bool hold_stack(uint32_t stack) {
  return profiler::g_stacks.hold_ref(stack);
}
void release_stack(uint32_t stack) {
  profiler::g_stacks.release(stack_id_of(stack));
}

uint64_t draw_ticket() {
  return g_ticket.fetch_add(1, std::memory_order_relaxed);
}

// May this process's table be changed?  Who asks finds out that the end has begun.
bool is_recording() {
  if (!profiler::is_following() || state().is_on.load(std::memory_order_relaxed) == 0) {
    return false;
  }
  if (__builtin_expect(profiler::kept_from().bit != 0, 0)) {
    note_end();
    return false;
  }
  // A runtime ended, and the program goes on.
  if (__builtin_expect(g_has_ended.load(std::memory_order_relaxed), 0)) {
    g_has_ended.store(false, std::memory_order_relaxed);
  }
  return true;
}

// A thread that has the table and waits for a processor has one within some time slices of those that wait, too.
constexpr uint64_t kLongestWaitNs = 50'000'000;

void put(const MappingEvent& event) {
  const bool is_in =
      platform::is_sandboxed() ? g_log.put(event) : g_log.put_waiting(event, &g_table, kLongestWaitNs);
  if (!is_in) {
    count(profiler::g_arena.header().later_statistics.dropped_mappings);
    if (event.range.stack != kNoMappingStack) {
      release_stack(event.range.stack);
    }
  }
  g_log.enter_into(&g_table);
}

// The range with the stack that is here, which it holds.
MappedRange describe(MappedBy by, const platform::Entry& entry) {
  MappedRange range;
  range.by = by;
  range.stack = by == MappedBy::kProgram ? profiler::enter_stack_here(entry, g_heap) : kNoMappingStack;
  range.thread_id = profiler::current_thread_id();
  range.time_ns = platform::monotonic_ns();
  range.ticket = draw_ticket();
  return range;
}

}  // namespace

void configure(bool is_wanted) {
  g_is_wanted = is_wanted;
  if (is_wanted) {
    g_heap = profiler::register_heap(kHeapName, sizeof(kHeapName) - 1);
  }
  g_is_on.store(is_wanted, std::memory_order_relaxed);
}

void attach(const Arena& arena) {
  g_log.reset_in_child();
  g_has_ended.store(false, std::memory_order_relaxed);
  new (&g_table) MappingTable(arena, {hold_stack, release_stack});
  arena.header().mappings.is_on.store(g_is_wanted ? 1 : 0, std::memory_order_relaxed);
}

void add_allocator(uint64_t start, uint64_t limit) {
  const uint32_t place = g_allocator_count.fetch_add(1, std::memory_order_relaxed);
  if (place < kMaxAllocators) {
    g_allocators[place].start.store(start, std::memory_order_relaxed);
    g_allocators[place].limit.store(limit, std::memory_order_release);
  }
}

void add_allocator_function(uint64_t start, uint64_t limit) {
  g_allocator_functions.add(start, limit);
}

void remove_allocator_function(uint64_t start) {
  g_allocator_functions.remove(start);
}

MappedBy caller_kind(const void* caller, const platform::Entry& entry) {
  const uint64_t address = reinterpret_cast<uint64_t>(caller);
  for (const Code& code : g_allocators) {
    // acquire pairs with the release in add_allocator().
    if (address < code.limit.load(std::memory_order_acquire) &&
        address >= code.start.load(std::memory_order_relaxed)) {
      return MappedBy::kAllocator;
    }
  }
  const bool is_functions = !g_allocator_functions.is_empty() && platform::has_stack_for_walk(entry, 0) &&
                            platform::is_called_by(entry, {is_in_functions, nullptr});
  return is_functions ? MappedBy::kAllocator : MappedBy::kProgram;
}

uint64_t round_to_pages(uint64_t size_bytes) {
  const uint64_t page = platform::page_bytes();
  return (size_bytes + page - 1) / page * page;
}

uint64_t begin_unmap() {
  static_cast<void>(is_recording());
  return draw_ticket();
}

void mapped(const void* start, uint64_t size_bytes, bool is_recorded, const void* caller,
            const platform::Entry& entry) {
  const MuteScope mute;
  const uint64_t at = reinterpret_cast<uint64_t>(start);
  if (!profiler::may_record() || !is_recorded) {
    return unmapped(start, size_bytes, draw_ticket());
  }
  if (!is_recording()) {
    return;
  }
  MappingEvent event;
  event.kind = MappingEvent::Kind::kAdd;
  event.range = describe(caller_kind(caller, entry), entry);
  event.range.start = at;
  event.range.limit = at + size_bytes;
  put(event);
}

void unmapped(const void* start, uint64_t size_bytes, uint64_t ticket) {
  if (!is_recording()) {
    return;
  }
  MappingEvent event;
  event.kind = MappingEvent::Kind::kRemove;
  event.range.stack = kNoMappingStack;
  event.from = reinterpret_cast<uint64_t>(start);
  event.old_bytes = size_bytes;
  event.ticket = ticket;
  put(event);
}

void moved(const void* from, uint64_t old_bytes, const void* to, uint64_t new_bytes, bool keeps_old,
           uint64_t ticket, const void* caller, const platform::Entry& entry) {
  const MuteScope mute;
  if (!is_recording()) {
    return;
  }
  MappingEvent event;
  event.kind = keeps_old ? MappingEvent::Kind::kMoveKeeping : MappingEvent::Kind::kMove;
  event.range = describe(caller_kind(caller, entry), entry);
  event.range.start = reinterpret_cast<uint64_t>(to);
  event.from = reinterpret_cast<uint64_t>(from);
  event.old_bytes = old_bytes;
  event.new_bytes = new_bytes;
  event.ticket = ticket;
  put(event);
}

void measure() {
  if (!profiler::is_following() || state().is_on.load(std::memory_order_relaxed) == 0 ||
      g_has_ended.load(std::memory_order_relaxed) || platform::is_sandboxed()) {
    return;
  }
  g_log.with_table(&g_table, [] { measure_mappings(g_table, &state().measure); });
}

void note_end() {
  if (profiler::is_following() && state().is_on.load(std::memory_order_relaxed) != 0 &&
      !g_has_ended.load(std::memory_order_relaxed)) {
    measure();
    g_has_ended.store(true, std::memory_order_relaxed);
  }
}

}  // namespace memprof::mappings
