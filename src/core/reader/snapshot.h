// SPDX-License-Identifier: Apache-2.0
// Reads an arena, ours or another process's, into an immutable copy.
//
// Model: the arena is bytes that somebody else may be writing, or that are garbage.  Sizes and offsets are
// loaded once, checked, and only then used; a record that changes while it is read is left out
// (core/tables/heap_map.h). Records are read before the stacks, so every stack that a record names is there;
// what was freed in between is still live in this snapshot and may be freed in its totals already.
//
// Threads: writers go on.  Snapshots are independent of each other and of the arena once they are made.
// Allocates: pages of its own, one mapping a snapshot.
// Owns: that mapping, until release().
// Failure: nullptr when the arena is not one, or memory is refused.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/arena/live_record.h"
#include "core/reader/counters.h"
#include "format/lifetime_class.h"
#include "format/load/load_clock.h"
#include "format/memory_part.h"
#include "format/rate_use.h"
#include "format/resident.h"
#include "format/runtime_frame.h"
#include "format/runtime_heap.h"
#include "platform/modules.h"

namespace memprof {

// The public structs of memprof.h have the same layout (asserted in capi/snapshot.cc).
struct SnapshotRecord : SampleFields {
  double weight_bytes;
  double weight_count;
};

struct SnapshotTotals {
  uint64_t samples;
  uint64_t size_bytes;
  double weight_bytes;
  double weight_count;
  double variance_bytes;
  double variance_count;
  double max_missed_bytes;
  double max_missed_count;
};

struct SnapshotStack {
  uint64_t first_frame;  // where its frames are in `frames`, also while these are not there
  uint32_t frame_count;
  uint32_t walk;
  SnapshotTotals allocated;
  SnapshotTotals freed;
  double lifetime_ns;  // sum of lifetimes times blocks; these by the classes, as close as a class is wide
  uint64_t min_lifetime_ns;
  uint64_t max_lifetime_ns;
};

// Where the frames of a stack are: its own, the innermost, and those of a piece of callers, which other stacks have too
// (core/tables/caller_table.h).
struct SnapshotStackFrames {
  uint64_t first_own;  // in `own_frames`
  uint32_t own;
  uint32_t callers;  // the index of the piece of the others; 0: there are none
};

using SnapshotLifetime = Lifetime;

// The heap at its highest.
struct SnapshotPeak {
  uint64_t time_ns = 0;  // monotonic; 0: unknown
  double weight_bytes = 0;
  double weight_count = 0;
  bool is_open = false;  // the heap was never larger than now, and the process did not end by itself
  bool is_resident_before = false;  // the next is of shortly before: the heap went on growing
  uint64_t resident_bytes = 0;      // of the process, then; 0: unknown
  uint64_t max_resident_bytes = 0;  // the most that it was, when that was last asked: at peaks and at the end
  uint64_t files_bytes = 0;         // of resident_bytes: files and shared memory
  uint64_t free_bytes = 0;          // of it free and kept, as allocators counted last; 0: they do not say
};

struct SnapshotModule {
  uint64_t start;
  uint64_t limit;
  uint64_t file_offset;
  uint64_t bias;
  uint64_t path_offset;
  uint32_t build_id_size;
  uint32_t flags;  // kModuleUnloaded
  uint8_t build_id[platform::kMaxBuildIdBytes];
};

inline constexpr uint32_t kModuleUnloaded = 1;
inline constexpr uint32_t kModuleIsPrimary = 2;  // while it is read: frames without a tag can be in it

struct SnapshotSymbol {
  uint64_t name_offset;
  uint64_t symbol_offset;
};

// What an element of `frames` with kRuntimeFrame stands for: its other bits are the index of one of these.
struct SnapshotRuntimeFrame {
  uint64_t name_offset;
  uint64_t file_offset;
  uint32_t line;           // 0: unknown
  uint32_t function_line;  // where the function begins
  uint32_t runtime;        // core/tables/code_table.h
  uint32_t reserved;
};

struct SnapshotMapping {
  uint64_t start;
  uint64_t limit;
  uint64_t resident_bytes;
  uint64_t time_ns;
  uint32_t stack_id;
  uint32_t thread_id;
};

// What was measured last; time_ns 0: nothing.
struct SnapshotMemory {
  uint64_t time_ns = 0;
  uint64_t resident_bytes = 0;
  uint64_t parts[static_cast<uint32_t>(MemoryPart::kCount)] = {};
};

struct SnapshotHeap {
  uint64_t name_offset;  // 0: there is no such heap, or its name found no room
};

template <typename T>
struct Span {
  T* data = nullptr;
  uint64_t size = 0;
};

class Snapshot {
 public:
  static constexpr uint32_t kNoModule = UINT32_MAX;

  // Of the arena at `base`, of which `length_bytes` bytes can be read.  *is_arena, where nothing is returned:
  // memory is what was missing.
  // kShared: without `frames` and `frame_modules`, which flat_frames() can make of the others.
  // kRecords: the live records alone, without their stacks, and what allocators count.
  enum class Content : uint8_t { kAll, kShared, kRecords };
  static Snapshot* read(const void* base, uint64_t length_bytes, bool* is_arena,
                        Content content = Content::kAll);
  // Of the arena in a file (platform::file_open), whose owner may be hostile.
  static Snapshot* read_file(int fd, uint64_t length_bytes, bool* is_arena, Content content = Content::kAll);
  static void release(Snapshot* snapshot);

  // Names of all frames, by platform::find_symbol.  Returns how many were found; -1: no memory.
  int64_t resolve_symbols();

  // All frames of all stacks in a row, as first_frame of each has it, and the module of each: made when it is first asked
  // for.  Any thread.  No data: no memory.
  Span<uint64_t> flat_frames() const;
  Span<uint32_t> flat_frame_modules() const;

  // For each of the first `count` stacks what was freed within that time, as classes have it; returns the bound
  // that was used.
  uint64_t sum_younger(uint64_t lifetime_ns, SnapshotTotals* totals, uint64_t count) const;

  const char* program() const { return program_; }
  // As store_command_line() of core/engine/facts.h has it; empty: not known.
  const char* command_line() const { return strings.data + command_line_; }

  uint32_t process_id = 0;
  uint64_t rate_bytes = 0;
  uint64_t time_unix_ns = 0;
  uint64_t time_ns = 0;
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;             // 0: the process had not come to its end by itself
  uint64_t end_begun_ns = 0;       // what is live is what was live then; 0: at the time of the snapshot
  uint64_t process_namespace = 0;  // platform::process_namespace()
  double live_weight_bytes = 0;
  double live_weight_count = 0;
  bool is_settled = true;  // false: stacks were folded while it was read, and sums are as far off as that
  SnapshotPeak peak;
  ResidentMemory resident;  // when the end began; set by others for another moment (dump/resident_memory.h)
  AllocatorCounts allocator_counts;  // as last asked
  Counters counters{};
  Span<SnapshotRecord> records;  // ordered by stack, size, rate
  Span<SnapshotStack> stacks;
  Span<SnapshotTotals> peaks;  // for each stack what was live when the heap was at its highest; none: unknown
  Span<SnapshotLifetime> lifetimes;  // ordered by stack, class; those with samples
  Span<uint64_t> frames;             // of all stacks, one after the other
  Span<SnapshotModule> modules;
  Span<uint32_t> frame_modules;            // for each frame the index of its module; kNoModule: none
  Span<SnapshotStackFrames> stack_frames;  // for each stack
  Span<uint64_t> own_frames;
  Span<uint32_t> own_frame_modules;
  Span<uint64_t> caller_frames;  // of each piece of callers kPieceFrames
  Span<uint32_t> caller_frame_modules;
  Span<uint32_t> caller_callers;       // of each piece the one of its callers; 0: none
  Span<uint16_t> caller_depths;        // how many pieces it is to the root; 0: no stack has it
  Span<uint32_t> stack_heaps;          // for each stack the index of its heap
  Span<SnapshotHeap> heaps;            // the first: of no name
  bool has_mappings = false;           // they were asked for, or are worth showing
  bool has_resident_mappings = false;  // what of them is in memory was measured, by their process or another
  Span<SnapshotMapping> mappings;      // ordered by start; also those that are not to be shown
  SnapshotMemory measured;
  RuntimeHeap runtime_heap{};  // as its runtime told it last; of runtime 0: none did
  Span<char> strings;
  Span<SnapshotRuntimeFrame> runtime_frames;
  Span<SnapshotSymbol> symbols;
  Span<RateUse> rates;  // that were in force, ascending
  LoadMarks load;       // when how much had been allocated
  Span<float>
      resident_shares;  // for each record how much is in memory; negative: not known; none before it is read

  // Of the pages that it lies in.
  uint64_t mapping_bytes() const { return mapping_bytes_; }

  // Room for them, which the snapshot owns; false: no memory.
  bool make_resident_shares();

 private:
  struct Source;
  class RuntimeFrames;
  // Room that is kept for the names of unknown code, one of each runtime.
  static constexpr uint64_t kMaxUnknownNameBytes = 32;
  static constexpr uint64_t kUnknownCodeNameBytes = kMaxRuntimes * kMaxUnknownNameBytes;
  static Snapshot* read(Source* from, Content content);
  void find_end(const Source& source);
  void copy_resident(const Source& source);
  void copy_rates(const Source& source);
  void copy_load(const Source& source);
  void add_record(const LiveSample& sample);
  void copy_records(const Source& source);
  bool copy_records_of_file(Source* source);
  void copy_stacks_and_peaks(Source* source);
  void copy_stack(const Source& source, uint64_t i);
  void copy_new_stacks(Source* source);
  void copy_caller(const Source& source, uint32_t id);
  void copy_callers(const Source& source);
  void copy_callers_of(Source* source, uint32_t id);
  void finish_frames();
  uint32_t depth_of_callers(uint32_t id);
  bool make_flat_frames() const;
  template <typename Visit>
  void for_each_frame(const Visit& visit);
  // Of the mapping of `count` flat frames and their modules.
  static uint64_t flat_bytes(uint64_t count) { return (count + 1) * (sizeof(uint64_t) + sizeof(uint32_t)); }
  void copy_stack_again(Source* source, uint64_t i);
  bool copy_folded(Source* source, uint64_t number);
  void copy_lifetimes(const Source& source, uint64_t i);
  void store_lifetimes(uint64_t i, const SnapshotLifetime* classes, uint32_t count);
  void finish_lifetimes();
  void copy_peaks(Source* source);
  void copy_peak(Source* source, uint64_t i);
  void copy_allocator_counts(const Source& source);
  void finish_peaks(const Source& source);
  void match_records(const Source& source);
  void take_shares();
  void sum_records_as_peaks();
  void count_survivors_whole(uint64_t closed_ns, uint64_t seed);
  uint64_t copy_name(const Source& source, uint32_t id);
  void copy_heaps(const Source& source);
  void copy_mappings(Source* source);
  void match_mappings(const Source& source);
  uint32_t stack_index(const Source& source, uint32_t ref) const;
  void note_module_states(const Source& source, Span<uint32_t>* states);
  void copy_modules(const Source& source, const Span<uint32_t>& states);
  void check_modules(const Source& source, Span<uint32_t>* module_of_entry);
  uint32_t find_same(const SnapshotModule& m) const;
  void find_frame_modules(const Span<uint32_t>& module_of_entry);
  bool copy_runtime_frames(Source* source);
  bool copy_runtime_heap(Source* source);

  uint64_t peak_climb_ = 0;
  uint64_t kept_bit_ = 0;  // of records that are live though their blocks were freed (core/tables/heap_map.h)
  uint64_t mapping_bytes_ = 0;
  // Where a stack has its part of `lifetimes` until finish_lifetimes(), and how much room there is.
  struct LifetimePlace {
    uint64_t first;
    uint64_t room;
  };
  Span<LifetimePlace> lifetime_places_;
  uint64_t max_lifetimes_ = 0;
  uint64_t max_frames_ = 0;   // what `own_frames` has room for
  uint64_t max_callers_ = 0;  // pieces that there is room for
  uint64_t flat_count_ = 0;   // what `frames` has
  mutable std::atomic<uint64_t*> flat_frames_{nullptr};
  uint64_t max_text_ = 0;  // what `strings` has room for
  uint64_t resident_shares_bytes_ = 0;
  void* symbol_mapping_ = nullptr;
  uint64_t symbol_mapping_bytes_ = 0;
  void* runtime_mapping_ = nullptr;
  uint64_t runtime_mapping_bytes_ = 0;
  void* runtime_heap_mapping_ = nullptr;
  uint64_t runtime_heap_mapping_bytes_ = 0;
  RateUse rates_[RateLog::kPlaces];
  uint64_t command_line_ = 0;  // its offset in `strings`
  char program_[512];
};

}  // namespace memprof
