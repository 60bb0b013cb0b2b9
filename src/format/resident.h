// SPDX-License-Identifier: Apache-2.0
// What a process has in memory (RSS), and what of it is explained: the parts, as profiles, the C interface and
// reports have them, and the formulas that hold between them.  docs/rss.md says what each part means.
//
//     total = heap + files + shared + stacks + code + runtime + memprof + anonymous + (difference)
//     heap  = live - absent + slack + free + (not explained)
//
// `heap` is what allocators have in memory; `live` is an estimate from samples, so what is not explained of the
// heap may be negative by as much as the interval of the estimate.
//
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof {

// What a mapping is for.
enum class MappingKind : uint8_t {
  kHeap,    // an allocator's: the break, arenas of glibc, mappings that hold sampled blocks
  kFiles,   // of files, with their static data
  kShared,  // shared memory: /dev/shm, memfd, System V, shared anonymous
  kStacks,  // of threads
  kCode,    // anonymous and executable: code made at run time
  kRuntime,  // anonymous, in a process with a runtime that has a heap of its own (ResidentRuntime); of kBoehm its heap
  kMemprof,    // memprof's tables and filter
  kAnonymous,  // anonymous, of unknown origin
};
inline constexpr size_t kMappingKinds = 8;

// A runtime whose heap does not come from malloc.
enum class ResidentRuntime : uint64_t { kNone, kV8, kJvm, kGo, kDotNet, kBoehm };

// Bits of ResidentMemory::state.
inline constexpr uint64_t kResidentFreeKnown = 1;  // free_bytes is what the allocator's lists say
inline constexpr uint64_t kResidentFreeCut = 2;    // ... the first of them: there is more
inline constexpr uint64_t kResidentCut = 4;        // not all mappings were looked at: the time was over
inline constexpr uint64_t kResidentJemalloc =
    8;  // free_bytes has what a jemalloc of the process counts itself
inline constexpr uint64_t kResidentTcmalloc = 16;  // ... a tcmalloc
inline constexpr uint64_t kResidentCounted =
    32;  // counted_bytes are the blocks of the allocator behind malloc, and no other is known

inline constexpr uint64_t kResidentNoGlibc =
    64;  // free memory is not known: the process has no glibc that is a library
inline constexpr uint64_t kResidentOtherHeap = 128;  // ... it has one, whose malloc has no heap

// The time was over before the heap was known: only what ResidentField::is_quick has holds; the rest is too small, or 0.
inline constexpr uint64_t kResidentHeapCut = 256;

struct ResidentMemory {
  uint64_t total_bytes = 0;  // RSS; 0: nothing is known
  uint64_t swap_bytes = 0;
  uint64_t heap_bytes = 0;  // these eight: resident, by MappingKind
  uint64_t files_bytes = 0;
  uint64_t shared_bytes = 0;
  uint64_t stacks_bytes = 0;
  uint64_t code_bytes = 0;
  uint64_t runtime_bytes = 0;
  uint64_t memprof_bytes = 0;
  uint64_t anonymous_bytes = 0;
  uint64_t live_bytes = 0;    // heap in use, by samples, at that moment
  uint64_t absent_bytes = 0;  // of it not in memory: never touched, or swapped out
  uint64_t slack_bytes = 0;   // what blocks take beyond what was asked for: rounding and headers
  uint64_t free_bytes = 0;    // free, and kept by the allocator; in memory
  uint64_t runtime = 0;       // ResidentRuntime
  uint64_t state = 0;
  // Of V8's heap as V8 counts it, in memory; 0: it was not asked.  A part of runtime and code.
  uint64_t js_bytes = 0;
  uint64_t js_used_bytes = 0;      // of it objects of the program, with those that nothing refers to any more
  uint64_t js_live_bytes = 0;      // of these the ones that live, after a garbage collection
  uint64_t js_code_bytes = 0;      // of it machine code and what it needs
  uint64_t js_external_bytes = 0;  // outside of it, kept by objects in it: a part of the blocks
  uint64_t js_young_bytes = 0;     // of js_bytes, by space; 0: not known
  uint64_t js_old_bytes = 0;
  uint64_t js_large_bytes = 0;
  // What jemalloc and tcmalloc count themselves; 0: there is none, or it was not asked.  No part of the sum.
  uint64_t counted_bytes = 0;   // blocks in use, as large as the allocator made them; exact
  uint64_t tables_bytes = 0;    // for their own tables; not all of it need be in memory
  uint64_t counted_age_ns = 0;  // how long before this they were asked

  uint64_t& of(MappingKind kind) {
    uint64_t ResidentMemory::* const members[kMappingKinds] = {
        &ResidentMemory::heap_bytes,    &ResidentMemory::files_bytes,    &ResidentMemory::shared_bytes,
        &ResidentMemory::stacks_bytes,  &ResidentMemory::code_bytes,     &ResidentMemory::runtime_bytes,
        &ResidentMemory::memprof_bytes, &ResidentMemory::anonymous_bytes};
    return this->*members[static_cast<size_t>(kind)];
  }

  bool is_known() const { return total_bytes != 0; }
  bool is_heap_known() const { return is_known() && (state & kResidentHeapCut) == 0; }
  // What is in memory of the program's blocks.
  double blocks_bytes() const {
    return live_bytes > absent_bytes ? static_cast<double>(live_bytes - absent_bytes) : 0;
  }
  // Of the allocators' memory; negative: the estimate is higher than what there is.
  double unexplained_heap_bytes() const {
    return static_cast<double>(heap_bytes) - blocks_bytes() - static_cast<double>(slack_bytes) -
           static_cast<double>(free_bytes);
  }
  // Between the total and the sum of the mappings: the process went on meanwhile.
  double difference_bytes() const {
    const uint64_t sum = heap_bytes + files_bytes + shared_bytes + stacks_bytes + code_bytes + runtime_bytes +
                         memprof_bytes + anonymous_bytes;
    return static_cast<double>(total_bytes) - static_cast<double>(sum);
  }
  // All that has no name: in the allocators' memory, mappings of unknown origin, the difference.
  double unexplained_bytes() const {
    return unexplained_heap_bytes() + static_cast<double>(anonymous_bytes) + difference_bytes();
  }
  // The same with the blocks as the allocator counts them, which samples estimate; only where kResidentCounted is set.
  double unexplained_by_count_bytes() const {
    return unexplained_bytes() + static_cast<double>(live_bytes) + static_cast<double>(slack_bytes) -
           static_cast<double>(counted_bytes);
  }
  // The part of the allocators' memory that is not the program's blocks; 0 where there is none.
  double fragmentation() const {
    const auto heap = static_cast<double>(heap_bytes);
    const double unused = heap - blocks_bytes();
    return heap > 0 && unused > 0 ? unused / heap : 0;
  }
};

// A number of it, in comments and in JSON.
struct ResidentField {
  const char* key;
  const char* json;  // nullptr: not there by itself
  uint64_t ResidentMemory::* member;

  bool is_quick = false;  // needs no look at pages: is known where the time was over (kResidentHeapCut)

  bool is_known_of(const ResidentMemory& memory) const { return memory.is_heap_known() || is_quick; }
};
inline constexpr ResidentField kResidentFields[] = {
    {"total", "rss_bytes", &ResidentMemory::total_bytes, true},
    {"swap", "swap_bytes", &ResidentMemory::swap_bytes, true},
    {"heap", "heap_bytes", &ResidentMemory::heap_bytes},
    {"files", "files_bytes", &ResidentMemory::files_bytes, true},
    {"shared", "shared_bytes", &ResidentMemory::shared_bytes, true},
    {"stacks", "stacks_bytes", &ResidentMemory::stacks_bytes},
    {"code", "code_bytes", &ResidentMemory::code_bytes},
    {"runtime", "runtime_bytes", &ResidentMemory::runtime_bytes},
    {"memprof", "memprof_bytes", &ResidentMemory::memprof_bytes},
    {"anon", "anonymous_bytes", &ResidentMemory::anonymous_bytes},
    {"live", "live_bytes", &ResidentMemory::live_bytes, true},
    {"absent", "absent_bytes", &ResidentMemory::absent_bytes},
    {"slack", "slack_bytes", &ResidentMemory::slack_bytes},
    {"free", "free_bytes", &ResidentMemory::free_bytes},
    {"of", nullptr, &ResidentMemory::runtime},
    {"state", nullptr, &ResidentMemory::state},
    {"js", "js_bytes", &ResidentMemory::js_bytes},
    {"js_used", "js_used_bytes", &ResidentMemory::js_used_bytes},
    {"js_live", "js_live_bytes", &ResidentMemory::js_live_bytes},
    {"js_code", "js_code_bytes", &ResidentMemory::js_code_bytes},
    {"js_external", "js_external_bytes", &ResidentMemory::js_external_bytes},
    {"counted", "counted_bytes", &ResidentMemory::counted_bytes, true},
    {"tables", "tables_bytes", &ResidentMemory::tables_bytes, true},
    {"counted_age", "counted_age_ns", &ResidentMemory::counted_age_ns, true},
    {"js_young", "js_young_bytes", &ResidentMemory::js_young_bytes},
    {"js_old", "js_old_bytes", &ResidentMemory::js_old_bytes},
    {"js_large", "js_large_bytes", &ResidentMemory::js_large_bytes},
};
// Of several processes; what is not known of one of them is not known of all.
inline void add_resident(const ResidentMemory& more, ResidentMemory* sum) {
  if (!more.is_known() || !sum->is_known()) {
    *sum = {};
    return;
  }
  const uint64_t known = (more.state ^ sum->state) & kResidentFreeKnown;
  const bool is_part = known != 0 && ((more.state & known) != 0 ? *sum : more).heap_bytes != 0;
  const bool is_counted = (more.state & sum->state & kResidentCounted) != 0;
  for (const ResidentField& field : kResidentFields) {
    const bool is_sum = field.member != &ResidentMemory::runtime && field.member != &ResidentMemory::state &&
                        field.member != &ResidentMemory::counted_age_ns;
    uint64_t& to = sum->*field.member;
    const uint64_t from = more.*field.member;
    to = is_sum                                   ? (from > UINT64_MAX - to ? UINT64_MAX : to + from)
         : field.member == &ResidentMemory::state ? (to | from)
                                                  : (to > from ? to : from);
  }
  sum->state |= is_part ? kResidentFreeCut : 0;
  if (!is_counted) {
    sum->state &= ~kResidentCounted;
  }
}

// What allocators that count their own memory say of themselves (core/counts/allocator_counts.h).
struct AllocatorCounts {
  uint64_t time_ns = 0;     // monotonic, of the oldest; 0: none was asked
  uint64_t state = 0;       // kResidentJemalloc, kResidentTcmalloc
  bool has_malloc = false;  // the one behind malloc is among them
  uint64_t used_bytes = 0;
  uint64_t free_bytes = 0;
  uint64_t tables_bytes = 0;
};
// `now_ns`: when the parts were read.
inline void add_counts(const AllocatorCounts& counts, uint64_t now_ns, ResidentMemory* memory) {
  if (counts.time_ns == 0 || !memory->is_known()) {
    return;
  }
  const uint64_t room = memory->heap_bytes -
                        (memory->free_bytes < memory->heap_bytes ? memory->free_bytes : memory->heap_bytes);
  memory->free_bytes += counts.free_bytes < room ? counts.free_bytes : room;
  if ((memory->state & kResidentFreeKnown) == 0 && !counts.has_malloc) {
    memory->state |= kResidentFreeCut;  // of the allocator behind malloc nothing is known
  }
  memory->state |= (memory->state & kResidentFreeKnown) == 0 && counts.has_malloc ? kResidentCounted : 0;
  memory->state |= counts.state | kResidentFreeKnown;
  memory->counted_bytes = counts.used_bytes;
  memory->tables_bytes = counts.tables_bytes;
  memory->counted_age_ns = now_ns > counts.time_ns ? now_ns - counts.time_ns : 0;
}

// An arena keeps the first of them; new ones come at the end.  What a runtime counts of its heap is not there (js_bytes
// and so on: core/arena/runtime_heap.h).
inline constexpr size_t kKeptResidentFields = 24;
static_assert(sizeof(kResidentFields) / sizeof(kResidentFields[0]) >= kKeptResidentFields);

}  // namespace memprof
