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

Recording g_wanted = Recording::kNever;
// Both are there before any code runs, and no constructor makes them anew.
MappingTable g_table;
MappingLog g_log;
std::atomic<uint32_t> g_heap{0};  // relaxed: MappingState::is_on publishes it
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

// Are mappings of this process recorded, asked or not?  acquire pairs with the release in request(): the heap has its name.
bool has_recording() {
  return profiler::is_following() && state().is_on.load(std::memory_order_acquire) != kRecordedNot;
}

// May this process's table be changed?  Who asks finds out that the end has begun.
bool is_recording() {
  if (!has_recording()) {
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
  range.stack = by == MappedBy::kProgram
                    ? profiler::enter_stack_here(entry, g_heap.load(std::memory_order_relaxed))
                    : kNoMappingStack;
  range.thread_id = profiler::current_thread_id();
  range.time_ns = platform::monotonic_ns();
  range.ticket = draw_ticket();
  return range;
}

void enter(MappingEvent::Kind kind, uint64_t start, uint64_t size_bytes, const void* caller,
           const platform::Entry& entry) {
  MappingEvent event;
  event.kind = kind;
  event.range = describe(caller_kind(caller, entry), entry);
  event.range.start = start;
  event.range.limit = start + size_bytes;
  put(event);
}

void turn_on() {
  g_heap.store(profiler::register_heap(kHeapName, sizeof(kHeapName) - 1), std::memory_order_relaxed);
  // release pairs with the acquire in attach().
  g_is_on.store(true, std::memory_order_release);
}

// Calls visit(start, limit) of the program's mappings until it returns false.
template <typename Visit>
void each_of_program(const Visit& visit) {
  for (uint32_t id = g_table.first(); id != 0; id = g_table.following(id)) {
    const MappingNode& n = g_table.at(id);
    if (MappingTable::by_of(n) == MappedBy::kProgram &&
        !visit(n.start.load(std::memory_order_relaxed), n.limit.load(std::memory_order_relaxed))) {
      return;
    }
  }
}

// Cheaper than a look at all of the process's memory: counts pages of the program's mappings until they are enough.  Where
// that is no longer cheap, the look it is.
bool is_worth_measuring() {
  constexpr uint64_t kMaxCountedBytes = uint64_t{4} << 30;
  constexpr uint32_t kMaxCounted = 1000;  // one system call each
  uint64_t mapped_bytes = 0;
  uint32_t ranges = 0;
  each_of_program([&](uint64_t start, uint64_t limit) {
    mapped_bytes += limit - start;
    ++ranges;
    return true;
  });
  if (mapped_bytes < kWorthShowingBytes || mapped_bytes > kMaxCountedBytes || ranges > kMaxCounted) {
    return mapped_bytes >= kWorthShowingBytes;
  }
  uint64_t resident_bytes = 0;
  each_of_program([&](uint64_t start, uint64_t limit) {
    resident_bytes += platform::resident_bytes_in(start, limit);
    return resident_bytes < kWorthShowingBytes;
  });
  return resident_bytes >= kWorthShowingBytes;
}

}  // namespace

void configure(Recording recording) {
  g_wanted = recording;
  if (recording == Recording::kAlways) {
    turn_on();
  } else {
    g_is_on.store(false, std::memory_order_relaxed);
  }
}

void request() {
  if (g_wanted != Recording::kOnRequest || is_on()) {
    return;
  }
  turn_on();
  if (profiler::is_following()) {
    state().is_on.store(kRecordedUnasked, std::memory_order_release);
  }
}

void withdraw() {
  configure(Recording::kNever);
  if (profiler::is_following()) {
    state().is_on.store(kRecordedNot, std::memory_order_release);
  }
}

void attach(const Arena& arena) {
  g_log.reset_in_child();
  g_has_ended.store(false, std::memory_order_relaxed);
  new (&g_table) MappingTable(arena, {hold_stack, release_stack});
  uint64_t recorded = kRecordedNot;
  if (g_is_on.load(std::memory_order_acquire)) {
    recorded = g_wanted == Recording::kAlways ? kRecordedAsked : kRecordedUnasked;
  }
  arena.header().mappings.is_on.store(recorded, std::memory_order_relaxed);
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
  if (!profiler::may_record() || !is_recorded) {
    return unmapped(start, size_bytes, draw_ticket());
  }
  if (is_recording()) {
    enter(MappingEvent::Kind::kAdd, reinterpret_cast<uint64_t>(start), size_bytes, caller, entry);
  }
}

void committed(const void* start, uint64_t size_bytes, const void* caller, const platform::Entry& entry) {
  const MuteScope mute;
  if (profiler::may_record() && is_recording()) {
    enter(MappingEvent::Kind::kFill, reinterpret_cast<uint64_t>(start), size_bytes, caller, entry);
  }
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
  if (!has_recording() || g_has_ended.load(std::memory_order_relaxed) || platform::is_sandboxed()) {
    return;
  }
  const bool is_asked = state().is_on.load(std::memory_order_relaxed) == kRecordedAsked;
  g_log.with_table(&g_table, [is_asked] {
    if (is_asked || is_worth_measuring()) {
      measure_mappings(g_table, &state().measure);
    } else {
      state().measure.time_ns.store(0, std::memory_order_relaxed);
    }
  });
}

void note_end() {
  if (has_recording() && !g_has_ended.load(std::memory_order_relaxed)) {
    measure();
    g_has_ended.store(true, std::memory_order_relaxed);
  }
}

}  // namespace memprof::mappings
