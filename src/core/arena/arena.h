// SPDX-License-Identifier: Apache-2.0
// The region that a profile lives in: a versioned header, then sections, linked by offsets only, so that any
// process that maps it at any address can read it (core/reader/snapshot.h).
//
//   0            header, one page: identity, limits, counters, the section table, the heads of the tables
//   sections     live map | stack index | stacks | frames | modules | name index | names | text | heaps |
//                code index | codes | peaks | log of folds | lifetimes | mappings | heap of a runtime |
//                caller index | callers
//
// It is a file that other processes can map, or private memory where no file can be had.  Sections have a
// fixed place and a capacity.  Of each, a piece at its start is mapped in the process, which grows in steps:
// what is not used takes no address space, and the limits of the program (RLIMIT_AS, mlockall) mean what they
// meant.  What of it is in use grows in smaller steps, and in a file each step asks the system for the memory
// first (commit_pages): a touch for which there is none would end the program.  Where either is refused, the
// table is full and says so.
//
// Threads: `used_bytes`, `committed_bytes`, `mapped_bytes` are written by the cold paths of all threads; see
// allocate().
// Signals, fork: nothing here is locked; a fork child has a copy that it must not write (Profiler checks).
// Allocates: pages of its own, at create().
// Owns: the region; it is never given back while hooks may run.  Its file stays until somebody removes it.
// Failure: nullptr or kNoOffset; nothing is left half done.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/arena/fold_state.h"
#include "core/arena/levels.h"
#include "core/arena/load_state.h"
#include "core/arena/statistics.h"
#include "format/memory_part.h"
#include "format/resident.h"

namespace memprof {

struct Limits {
  uint64_t max_live_samples;
  uint64_t max_stacks;
  uint32_t max_depth;
};

// Deep enough for the middle of what frameworks call (pandas with scikit-learn: 182 frames are the median).
inline constexpr uint32_t kDefaultDepth = 512;
inline constexpr Limits kDefaultLimits{1u << 20, 1u << 16, kDefaultDepth};
// Where every allocation is recorded.  Address space: what is not used costs no memory.
inline constexpr Limits kExactLimits{1u << 22, 1u << 20, kDefaultDepth};
inline const Limits& default_limits(uint64_t rate_bytes) {
  return rate_bytes <= 1 ? kExactLimits : kDefaultLimits;
}
inline constexpr uint64_t kMaxLiveSamples = uint64_t{1} << 30;
inline constexpr uint64_t kMaxStacks = uint64_t{1} << 24;  // what StackTable::ref() has bits for
inline constexpr uint32_t kMaxDepth = 1024;
inline constexpr uint64_t kMaxModules = 4096;

enum SectionId : uint32_t {
  kLiveSection,
  kStackIndexSection,
  kStackSection,
  kFrameSection,
  kModuleSection,
  kNameIndexSection,
  kNameSection,
  kTextSection,
  kHeapSection,
  kCodeIndexSection,
  kCodeSection,
  kPeakSection,  // from version 7 on
  kFoldSection,  // these from version 8 on
  kLifetimeSection,
  kMappingSection,      // from version 9 on
  kRuntimeHeapSection,  // from version 10 on
  kCallerIndexSection,  // these from version 13 on
  kCallerSection,
  kSectionCount
};
// Those that every version has, and those of versions 7 to 12.
inline constexpr uint32_t kFirstSections = kPeakSection;
inline constexpr uint32_t kVersion7Sections = kFoldSection;
inline constexpr uint32_t kVersion8Sections = kMappingSection;
inline constexpr uint32_t kVersion9Sections = kRuntimeHeapSection;
inline constexpr uint32_t kVersion10Sections = kCallerIndexSection;

struct Section {
  uint64_t offset;  // from the start of the arena; a multiple of platform::kPieceBytes
  uint64_t capacity_bytes;
  std::atomic<uint64_t> used_bytes;
  std::atomic<uint64_t> committed_bytes;
  std::atomic<uint64_t> mapped_bytes;  // in the process that writes; a multiple of platform::kPieceBytes
};

// Levels of a table that are open (core/arena/levels.h).  Written by compare-exchange, release; read
// acquire.
struct LevelsHead {
  std::atomic<uint32_t> open;
  uint32_t limit;
};

inline constexpr uint64_t kArenaMagic = 0x414e5241464f524dull;  // "MROFARNA"
inline constexpr uint32_t kArenaVersion = 13;
// A reader understands those from this one on.  A later version only adds to the end of the header, and
// sections.
inline constexpr uint32_t kOldestArenaVersion = 6;
// Before the first of them there is room for the facts of one language runtime, before the second for kOlderMaxRuntimes.
inline constexpr uint32_t kFirstVersionOfRuntimes = 8;
inline constexpr uint32_t kFirstVersionOfMoreRuntimes = 11;
inline constexpr uint32_t kOlderMaxRuntimes = 4;
// Before it stacks have all of their frames themselves (core/tables/caller_table.h).
inline constexpr uint32_t kFirstVersionOfCallers = 13;
// Before it no LoadState.
inline constexpr uint32_t kFirstVersionOfLoad = 12;
// Before it no ResidentState.
inline constexpr uint32_t kFirstVersionOfResident = 9;
// Before it there are no LaterStatistics.
inline constexpr uint32_t kFirstVersionOfLaterStatistics = 8;
// Before it a frame without a tag belongs to the first module that contains it (core/tables/module_table.h).
inline constexpr uint32_t kFirstVersionOfPrimaryModules = 9;
inline constexpr uint32_t kByteOrderMark = 0x01020304;
inline constexpr uint64_t kPageBytes = 4096;

// The heap at its highest (core/tables/peak.h).  All relaxed.
struct PeakState {
  std::atomic<uint64_t> climb;               // odd: the peak is closed
  std::atomic<uint64_t> chooser_bytes;       // live now, by the choosing half
  std::atomic<uint64_t> highest_bytes;       // the most that this was
  std::atomic<uint64_t> time_ns;             // monotonic; when it became that
  std::atomic<uint64_t> closed_ns;           // monotonic; when the peak was closed last
  std::atomic<uint64_t> resident_bytes;      // of the process, then; 0: unknown
  std::atomic<uint64_t> max_resident_bytes;  // the most that it was, when that was last asked
  std::atomic<uint64_t> resident_at_bytes;   // highest_bytes when that was asked; kAskedInRise: peak.cc
  uint64_t seed;                             // deals samples to the halves
};

// The end of a process begins when it leaves main: what is freed from then on was live in the sense that its
// user has in mind.  Its records stay, marked (core/tables/heap_map.h), for readers who come after the
// process.
enum class EndBegun : uint64_t { kNot = 0, kByExit, kByRuntime };
// So long after its runtime has begun to end, a process that goes on has not begun to end.
inline constexpr uint64_t kRuntimeEndSeconds = 10;
struct Ending {
  std::atomic<uint64_t> begun_by;     // EndBegun; release, after begun_ns; readers acquire
  std::atomic<uint64_t> begun_ns;     // monotonic
  std::atomic<uint64_t> begun_climb;  // PeakState::climb then
};

// Live samples that stand for others, since the table was full (core/engine/thinning.h).  All relaxed.
struct ThinState {
  static constexpr uint64_t kNone = UINT64_MAX;
  std::atomic<uint64_t> thinnings;
  std::atomic<uint64_t> rate_bytes;   // of the last one
  std::atomic<uint64_t> rate_before;  // what the rate falls back to; kNone: it is that
  std::atomic<uint64_t> hand;         // the slot of the live map that it comes to next
  std::atomic<uint64_t> end;          // where it ends
  // Monotonic; when the thread began that is changing the samples of these slots of the live map (those of a
  // range share one of these); 0: none is.
  static constexpr uint32_t kRanges = 16;
  std::atomic<uint64_t> tended_ns[kRanges];
};

// The rates that were in force since the tables were made (core/rates/rates.h).  All relaxed.
struct RatePlace {
  std::atomic<uint64_t> rate_plus_one;  // 0: the place is free
  std::atomic<uint64_t> weight_bytes;   // what samples of this rate stand for; since is_counted
  std::atomic<uint64_t> time_ns;        // how long it was in force; the present one's goes on from since_ns
};
struct RateLog {
  static constexpr uint32_t kPlaces = 32;
  std::atomic<uint64_t> since_ns;
  std::atomic<uint64_t> is_counted;
  std::atomic<uint64_t> first_rate_bytes;  // what samples stand for that were not counted
  RatePlace uses[kPlaces];
};

// What of the process was resident when that was last asked of the system, and who holds it
// (core/mappings/mapping_measure.h).  All relaxed.
struct MappingMeasure {
  std::atomic<uint64_t> time_ns;  // monotonic; 0: never
  std::atomic<uint64_t> resident_bytes;
  std::atomic<uint64_t> parts[static_cast<uint32_t>(MemoryPart::kCount)];
};

// What the program has mapped itself (core/mappings/).  All relaxed, but `changes` and `is_on`.
struct MappingState {
  std::atomic<uint64_t> is_on;    // core/mappings/mapping_table.h
  std::atomic<uint64_t> changes;  // odd: somebody changes the table
  std::atomic<uint64_t> ranges;   // in the table
  std::atomic<uint64_t> joined;   // that became part of their neighbours when it was full
  std::atomic<uint32_t> head[4];
  std::atomic<uint32_t> free;
  std::atomic<uint32_t> reserved;
  MappingMeasure measure;
};

// What of the process was in memory when its end began.  All relaxed but `is_kept`.
struct ResidentState {
  std::atomic<uint64_t> is_kept;                      // 1: the others are there (release; readers acquire)
  std::atomic<uint64_t> fields[kKeptResidentFields];  // by kResidentFields
};

// What allocators count themselves, as last asked, and more of the peak (core/counts/, core/tables/peak.h).  All
// relaxed.
struct CountedAllocator {
  std::atomic<uint64_t> time_ns;  // monotonic; 0: nobody has this place, or it was not asked yet
  std::atomic<uint64_t> state;    // kResidentJemalloc, kResidentTcmalloc
  std::atomic<uint64_t> used_bytes;
  std::atomic<uint64_t> free_bytes;
  std::atomic<uint64_t> tables_bytes;
};
struct CountedState {
  static constexpr uint32_t kPlaces = 4;  // the first: the allocator behind malloc
  CountedAllocator allocators[kPlaces];
  std::atomic<uint64_t> peak_files_bytes;  // of PeakState::resident_bytes: files and shared memory
  std::atomic<uint64_t>
      peak_free_bytes;  // what allocators counted as free then; 0: nothing, or they do not say
};

// Entries of modules, code and names that are given to others (core/tables/table_sweep.h).  All relaxed.
struct SweepState {
  std::atomic<uint64_t> number;     // of sweeps that were begun
  std::atomic<uint64_t> code_hand;  // the entry that is looked at next for one that is free
  std::atomic<uint64_t> name_hand;
  std::atomic<uint64_t> free_modules;
  std::atomic<uint64_t> free_codes;
  std::atomic<uint64_t> shortages;  // of entries and of text, for code and its names
};

struct ArenaHeader {
  std::atomic<uint64_t> magic;  // written last (release); 0: not ready
  uint32_t version;
  uint32_t header_bytes;
  uint64_t run_token;  // Sharing::run_token.  Here in every version from 6 on: it is read before all else
  uint32_t byte_order;
  uint32_t section_count;
  uint64_t total_bytes;
  uint32_t process_id;
  std::atomic<uint32_t> state;
  uint64_t process_namespace;    // platform::process_namespace(), which process_id belongs to
  uint64_t start_ns;             // monotonic
  uint64_t start_unix_ns;        // the same moment
  std::atomic<uint64_t> end_ns;  // monotonic; 0: the process did not come to its end yet, or was killed
  uint32_t is_file;
  // The name of the process's command line (core/engine/facts.h) + 1; 0: not known, as in older files.  Release.
  std::atomic<uint32_t> command_line;
  Limits limits;
  std::atomic<uint64_t> rate_bytes;
  Section sections[kFirstSections];
  LevelsHead live_levels;
  LevelsHead stack_levels;
  LevelsHead name_levels;
  LevelsHead code_levels;
  std::atomic<uint64_t> live_count;
  Statistics statistics;
  char program[512];  // path of the executable, NUL-terminated, cut if longer
  // From version 7 on.
  Section later_sections[kVersion7Sections - kFirstSections];
  PeakState peak;
  Ending ending;
  // From version 8 on.
  Section last_sections[kVersion8Sections - kVersion7Sections];
  FoldState fold;
  ThinState thin;
  RuntimeFacts later_runtimes[kOlderMaxRuntimes - 1];
  LaterStatistics later_statistics;
  uint8_t room_for_statistics[kLaterStatisticsBytes - sizeof(LaterStatistics)];
  RateLog rates;
  // From version 9 on.
  Section mapping_section;
  MappingState mappings;
  ResidentState resident;
  SweepState sweep;
  LeavingState leaving;
  CountedState counted;
  // From version 10 on.
  Section runtime_heap_section;
  // From version 11 on.
  RuntimeFacts last_runtimes[kMaxRuntimes - kOlderMaxRuntimes];
  // From version 12 on.
  LoadState load;
  // From version 13 on.
  Section caller_sections[kSectionCount - kVersion10Sections];
  LevelsHead caller_levels;

  // Of the runtime of id index + 1.
  RuntimeFacts& runtime(uint32_t index) {
    return index == 0                  ? statistics.first_runtime
           : index < kOlderMaxRuntimes ? later_runtimes[index - 1]
                                       : last_runtimes[index - kOlderMaxRuntimes];
  }
  const RuntimeFacts& runtime(uint32_t index) const { return const_cast<ArenaHeader*>(this)->runtime(index); }
  Section& section(uint32_t id) {
    return id < kFirstSections       ? sections[id]
           : id < kVersion7Sections  ? later_sections[id - kFirstSections]
           : id < kVersion8Sections  ? last_sections[id - kVersion7Sections]
           : id < kVersion9Sections  ? mapping_section
           : id < kVersion10Sections ? runtime_heap_section
                                     : caller_sections[id - kVersion10Sections];
  }
  const Section& section(uint32_t id) const { return const_cast<ArenaHeader*>(this)->section(id); }
};
inline constexpr uint64_t kVersion6HeaderBytes = offsetof(ArenaHeader, later_sections);
inline constexpr uint64_t kVersion7HeaderBytes = offsetof(ArenaHeader, last_sections);
inline constexpr uint64_t kVersion8HeaderBytes = offsetof(ArenaHeader, mapping_section);
inline constexpr uint64_t kVersion9HeaderBytes = offsetof(ArenaHeader, runtime_heap_section);
inline constexpr uint64_t kVersion10HeaderBytes = offsetof(ArenaHeader, last_runtimes);
inline constexpr uint64_t kVersion11HeaderBytes = offsetof(ArenaHeader, load);
inline constexpr uint64_t kVersion12HeaderBytes = offsetof(ArenaHeader, caller_sections);
static_assert(sizeof(ArenaHeader) <= kPageBytes);

// Whose an arena is, for readers.
struct ProcessIdentity {
  uint32_t process_id;
  uint64_t process_namespace;  // which process_id belongs to
  uint64_t process_start;      // platform::process_start()
};
ProcessIdentity this_process();

class Arena {
 public:
  static constexpr uint64_t kNoOffset = UINT64_MAX;

  // Maps and fills a new arena in the new file `path`; where that cannot be, or `path` is nullptr, in memory
  // of this process.  Where the address space is limited (ulimit -v), the limits are halved until a quarter
  // of what is free suffices for all that it can become. No arena: not even the smallest fits.
  static Arena create(const Limits& wanted, const char* path = nullptr,
                      const ProcessIdentity& owner = this_process(), uint64_t run_token = 0);

  // Unmaps it.  Only for an arena that no hook can reach.
  static void release(const Arena& arena);

  Arena() = default;
  explicit Arena(ArenaHeader* header) : header_(header) {}
  explicit operator bool() const { return header_ != nullptr; }

  ArenaHeader& header() const { return *header_; }
  uint8_t* base() const { return reinterpret_cast<uint8_t*>(header_); }
  Section& section(SectionId id) const { return header_->section(id); }

  template <typename T>
  T* at(SectionId id, uint64_t offset_in_section = 0) const {
    return reinterpret_cast<T*>(base() + section(id).offset + offset_in_section);
  }

  // Gives the memory of a file's sections back to the system, when the process ends and may not remove the
  // file: it has become another user.  Threads that go on find empty tables.
  void give_back() const;

  // Hands out `size_bytes` (rounded up to 8) of a section, for ever.  Returns the offset in the section, or
  // kNoOffset when it is full or the system has no memory.
  uint64_t allocate(SectionId id, uint64_t size_bytes) const;

  // Has the next `size_bytes` that allocate() hands out, as far as the section has them, ask the system for
  // nothing.
  void commit_ahead(SectionId id, uint64_t size_bytes) const;

  // The same for a section in which places follow from elsewhere: [0, size_bytes) becomes usable, and counts
  // as used.  false: the section is not as large, or the system has no memory.
  bool use_up_to(SectionId id, uint64_t size_bytes) const;

  // Makes the first `end` bytes of a section usable.  false: the system has no memory.
  bool commit_up_to(SectionId id, uint64_t end) const;

  // Goes one small step towards it, so that commit_up_to() has little to do when they are needed: for a file 1 MiB
  // takes as long as a hundred samples.
  void commit_next(SectionId id, uint64_t end) const;

  // Makes the part [offset, offset + size_bytes) of a section usable.
  bool commit(SectionId id, uint64_t offset_in_section, uint64_t size_bytes) const;

 private:
  bool map(SectionId id, uint64_t size_bytes) const;

  ArenaHeader* header_ = nullptr;
};

// Bytes that an arena can come to have with these limits: of its file, and of memory.
uint64_t max_bytes(const Limits& limits);

// What the tables take (core/tables/capacities.cc).

// Bytes that each section has with these limits; also what a reader expects to find at least.
uint64_t section_capacity(SectionId id, const Limits& limits);

// How many levels each table may open.
void set_level_limits(const Limits& limits, ArenaHeader* header);

// Address space of the arena that is handed out to tables.
uint64_t used_bytes(const ArenaHeader& header);

}  // namespace memprof
