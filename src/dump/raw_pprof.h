// SPDX-License-Identifier: Apache-2.0
// Writes a pprof profile from inside the profiled process: straight from flat arrays to a sink.
//
// Model: see docs/profile-format.md, which says what each sample, label and comment means.
//
// Allocates: never.  The caller gives scratch memory (pages of its own).  Depends on nothing, not even libc
// beyond memcpy and memset.
// Threads: no state; calls with different arguments are independent.
// Failure: false when the sink fails or the scratch is too small; the output is then incomplete.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "format/birth.h"
#include "format/lifetime_class.h"
#include "format/load/load_clock.h"
#include "format/pprof/pprof_schema.h"
#include "format/profile_facts.h"
#include "format/rate_use.h"
#include "format/resident.h"
#include "format/runtime_frame.h"
#include "format/sink.h"
#include "format/walk.h"

namespace memprof::profile {

struct RawModule {
  uint64_t start = 0;  // start <= address < limit
  uint64_t limit = 0;
  uint64_t file_offset = 0;  // such that (address - start + file_offset) is the offset in the file
  const char* path = "";
  const uint8_t* build_id = nullptr;
  uint32_t build_id_size = 0;
};

// Sums over samples; the same members as memprof_totals.
struct RawTotals {
  uint64_t samples = 0;
  uint64_t size_bytes = 0;
  double weight_bytes = 0, weight_count = 0;
  double variance_bytes = 0, variance_count = 0;
  double max_missed_bytes = 0, max_missed_count = 0;
};

// Stands for frames that were left out (format/pprof/pprof_schema.h): written as a location with a function and no module.
inline constexpr uint64_t kFramesLeftOut = 1;
inline constexpr uint64_t kOlderStacks = 2;
inline constexpr uint64_t kOlderModules = 3;

// In place of an address: a function of a language's runtime.  The other bits are an index.
inline constexpr uint64_t kRuntimeFrame = uint64_t{1} << 63;

struct RawRuntimeFrame {
  const char* name = "";
  const char* file = "";
  uint32_t line = 0;           // 0: unknown
  uint32_t function_line = 0;  // where the function begins
};

// Some elements of an array.
template <typename Element>
struct RawPart {
  const Element* first = nullptr;
  size_t count = 0;

  const Element* begin() const { return first; }
  const Element* end() const { return first + count; }
};

// Frames that stacks share, in pieces of kCount: a piece has the callers of a stack's own frames, or of another piece.
struct RawCallers {
  static constexpr uint32_t kCount = 8;
  const uint64_t* frames = nullptr;   // kCount of each piece, as those of a stack
  const uint32_t* modules = nullptr;  // an index for each of them
  const uint32_t* callers = nullptr;  // of each piece the one with its callers; 0: it ends with the root
  size_t count = 0;                   // with the first, which is none
};

struct RawStack {
  // Return addresses, leaf first; those that stand for frames of a runtime: kRuntimeFrame | index.
  const uint64_t* frames = nullptr;
  uint32_t depth = 0;  // how many these are; those of `callers` follow
  uint32_t walk = 0;   // MEMPROF_WALK_*
  RawTotals allocated;
  RawTotals freed;  // variance_* and max_* unused
  RawTotals peak;   // live when the heap was at its highest, estimated from half the samples
  double lifetime_ns = 0;
  const uint32_t* modules = nullptr;  // index for each frame; nullptr: the first that contains the address
  uint32_t heap = 0;                  // index of its name
  RawPart<Lifetime> lifetimes;
  RawPart<Birth> births;                      // of what lives, ascending by part
  RawPart<Birth> load_births;                 // the same by sixteenths of RawProfile::load
  int64_t mapped[schema::kMappedCount] = {};  // in the order of schema::kMappedNames
  double resident_count = 0;                  // estimates: live blocks with a page in memory
  double resident_bytes = 0;                  // ... of live blocks, what is in memory
  int64_t js_bytes = 0;                       // in the runtime's own heap
  uint32_t callers = 0;                       // a piece of RawProfile::callers; 0: none
};

// Live samples of one stack that have the same size and rate.
struct RawLive {
  uint32_t stack = 0;
  uint64_t size_bytes = 0;
  uint64_t rate_bytes = 0;
  uint64_t samples = 0;
  double weight_bytes = 0;  // of all of them together
  double weight_count = 0;
};

// What a language runtime in the process says of itself: memprof_runtime_stats.
struct RawRuntime {
  uint64_t version = 0;  // 0: there is none
  uint64_t objects = 0;
  uint64_t stacks = 0;
  std::string_view name;
};

// Its base has the facts of memprof_stats and of a snapshot.
struct RawProfile : ProfileFacts {
  const RawModule* modules = nullptr;  // main program first
  size_t module_count = 0;
  const char* const* heaps = nullptr;  // names; "": no heap, or one without a name
  size_t heap_count = 0;
  const RawRuntimeFrame* runtime_frames = nullptr;
  size_t runtime_frame_count = 0;
  const RawStack* stacks = nullptr;
  size_t stack_count = 0;
  RawCallers callers;
  const RawLive* live = nullptr;  // ordered by stack
  size_t live_count = 0;

  size_t mapped_count = 0;    // of schema::kMappedNames: so many are known
  bool has_resident = false;  // what of blocks is in memory was looked at
  bool has_js = false;        // the runtime was asked for its own heap

  const char* program = "";  // file name without folder
  const char* command_line =
      "";  // of another process, for who names it (format/programs/command_line.h); empty: none
  uint64_t pid = 0;
  uint64_t rate_bytes = 0;
  uint64_t time_unix_ns = 0;       // when the snapshot was taken
  uint64_t duration_ns = 0;        // from memprof_init to then
  const RateUse* rates = nullptr;  // that were in force
  size_t rate_count = 0;
  uint64_t walks[kWalkReasons] = {};  // samples by MEMPROF_WALK_*
  RawRuntime runtimes[kMaxRuntimes];  // by ids from 1 on
  ResidentMemory resident;            // nothing known: no comment
  LoadTimes load;                     // not known: no comment
  const char* note = "";              // a comment for people; empty: none
};

// Bytes of scratch memory that write_raw_pprof needs at most for a profile of this size.  Map them directly from
// the system: most pages are needed only where no two frames are equal, and are usually never
// touched.
size_t raw_pprof_scratch_bytes(const RawProfile& profile);

// `scratch` is aligned to 16 bytes; what it holds does not matter.
bool write_raw_pprof(const RawProfile& profile, void* scratch, size_t scratch_bytes, const Sink& sink);

}  // namespace memprof::profile
