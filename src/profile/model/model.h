// SPDX-License-Identifier: Apache-2.0
// What a profile is outside the engine: stacks, what they hold and allocated, and the places they name.
// Readers fill it, writers and reports read it.  docs/profile-format.md says how it travels in a pprof file.
//
// Threads: plain values; share them as const.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "estimate/sample_sum.h"
#include "format/birth.h"
#include "format/lifetime_class.h"
#include "format/load/load_clock.h"
#include "format/profile_facts.h"
#include "format/rate_use.h"
#include "format/resident.h"
#include "format/runtime_frame.h"
#include "format/walk.h"

namespace memprof::profile {

// Mapped: memory that the program mapped itself, and of it what is resident: a heap apart, in no sum of blocks.
// Resident: of live blocks what is in memory.
// Js: objects in the own heap of the language's runtime, as its own sampling tells them: likewise apart.
// Peak: blocks that were live when the heap was at its highest.  Temporary: blocks that were freed again within a
// time that the reader chooses (profile/lifetimes/temporary.h); computed, not stored in files.
enum class Metric : uint8_t {
  kAllocObjects = 0,
  kAllocSpace = 1,
  kInuseObjects = 2,
  kInuseSpace = 3,
  kPeakObjects = 4,
  kPeakSpace = 5,
  kMappedObjects = 6,
  kMappedSpace = 7,
  kMappedResidentObjects = 8,  // mappings with a page in memory
  kMappedResidentSpace = 9,
  kResidentObjects = 10,  // live blocks with a page in memory
  kResidentSpace = 11,
  kJsObjects = 12,  // the runtime does not tell them: in no profile
  kJsSpace = 13,
  kTemporaryObjects = 14,
  kTemporarySpace = 15
};
inline constexpr size_t kMetricCount = 16;
inline constexpr size_t kFileMetrics = 14;  // the first so many can be in a file
inline constexpr size_t kFirstMetrics = 4;  // the first so many are in every profile of memprof
using MetricValues = std::array<double, kMetricCount>;

struct Mapping {
  uint64_t start = 0;
  uint64_t limit = 0;
  uint64_t file_offset = 0;
  std::string path;
  std::string build_id;  // lower-case hex; empty: none
  bool has_functions = false;
  bool has_filenames = false;
  bool has_line_numbers = false;
  bool has_inline_frames = false;
};

struct Function {
  std::string name;         // demangled
  std::string system_name;  // as in the symbol table
  std::string filename;
  int64_t start_line = 0;
};

struct Line {
  uint32_t function = 0;  // index into Profile::functions
  int64_t line = 0;
};

inline constexpr uint32_t kNoMapping = UINT32_MAX;

struct Location {
  uint64_t address = 0;           // return address - 1
  uint32_t mapping = kNoMapping;  // index into Profile::mappings
  bool is_folded = false;         // pprof's field of that name, passed through
  std::vector<Line> lines;        // innermost first; empty: no name
};

// A label of a sample in a profile that memprof did not write; passed through.
struct Label {
  std::string key;
  std::string text;  // empty: the label is the number
  int64_t number = 0;
  std::string unit;
};

inline bool operator==(const Label& a, const Label& b) {
  return a.key == b.key && a.text == b.text && a.number == b.number && a.unit == b.unit;
}

// The values of one stack under one set of labels.
struct LabeledValues {
  std::vector<Label> labels;
  MetricValues values{};
};

// Live sampled blocks of one stack with one size and rate.
struct LiveGroup {
  uint64_t size_bytes = 0;
  uint64_t rate_bytes = 0;
  uint64_t samples = 0;
};

// Sums over samples that are no longer at hand one by one (docs/profile-format.md, "Comments").
using Totals = SampleTotals;

// The largest stay as they are: an upper bound for the sum.
inline void add_totals(const Totals& more, Totals* sum) {
  sum->samples += more.samples;
  sum->size_bytes += more.size_bytes;
  sum->weight_bytes += more.weight_bytes;
  sum->weight_count += more.weight_count;
  sum->variance_bytes += more.variance_bytes;
  sum->variance_count += more.variance_count;
  sum->max_missed_bytes = std::max(sum->max_missed_bytes, more.max_missed_bytes);
  sum->max_missed_count = std::max(sum->max_missed_count, more.max_missed_count);
}

// What memprof knows of a stack beyond what every viewer shows.
struct StackStatistics {
  Walk walk = Walk::kRoot;
  Totals allocated;
  Totals freed;  // variance_* and max_* unused
  Totals peak;   // of half the samples, each with twice its weight (docs/profile-format.md)
  double lifetime_ns = 0;
  std::vector<Lifetime>
      lifetimes;              // freed samples by class, ascending; those of unknown lifetime are in none
  std::vector<Birth> births;  // of what lives, ascending by part; none: not known, or nothing lives
  // The same by sixteenths of Profile::load; none: as `births`, or nothing lives.
  std::vector<Birth> load_births;
};

// Its statistics are exact, and only in profiles that memprof wrote: where has_statistics is true.
struct Stack : StackStatistics {
  std::vector<uint32_t> locations;  // indices into Profile::locations, leaf first
  // Name of the heap that the program registered; empty: malloc, or a heap without a name.  Stacks of different
  // heaps are different stacks.
  std::string heap;
  // "NAME PID" in a profile of several processes; empty: the profile has one process.
  std::string process;
  // Estimates as the file has them: rounded integers.  Used as they are where has_statistics is false.
  MetricValues values{};
  // How `values` divides by labels, where a file without statistics has labels: their sum is `values`.
  std::vector<LabeledValues> parts;
  bool has_statistics = false;
  std::vector<LiveGroup> live;
  Totals temporary;
};

// Whether its outermost frames are missing.
inline bool is_cut(const Stack& stack) {
  return stack.has_statistics && is_cut(stack.walk);
}

// Begins the comment that names processes which are missing in a profile.
inline constexpr char kUnseenComment[] = "ran without memprof: ";

// What a language runtime in the process said of itself: memprof_runtime_stats of memprof.h.
struct RuntimeFacts {
  uint64_t version = 0;  // 0x030b is 3.11; 0: there is none
  uint64_t objects = 0;
  uint64_t stacks = 0;
  std::string name;  // empty for those that every reader knows (profile/names/runtime_name.h)
};
using Runtimes = std::array<RuntimeFacts, kMaxRuntimes>;  // by their ids, from 1 on

// Of several processes: the larger value counts for all; the states are numbered so that problems are larger.
inline void combine_runtimes(Runtimes& sum, const Runtimes& more) {
  for (size_t i = 0; i < sum.size(); ++i) {
    sum[i].version = std::max(sum[i].version, more[i].version);
    sum[i].objects = std::max(sum[i].objects, more[i].objects);
    sum[i].stacks = std::max(sum[i].stacks, more[i].stacks);
    if (sum[i].name.empty()) sum[i].name = more[i].name;
  }
}

struct Profile : ProfileFacts {
  std::string program;
  uint64_t pid = 0;
  std::string
      command_line;  // as format/programs/command_line.h has it; never written: command lines have passwords in them
  std::string told_apart;   // what tells the process from others of its run (profile/model/process_names.h)
  uint64_t rate_bytes = 0;  // period
  uint64_t time_unix_ns = 0;
  uint64_t duration_ns = 0;
  bool from_memprof = false;   // has a #memprof.profile comment
  uint64_t temporary_ns = 0;   // what "temporary" means in it; 0: nothing yet
  std::vector<RateUse> rates;  // ascending; empty: there was one, rate_bytes
  LoadTimes load;              // of several processes, of the one with the most; not known: as time
  ResidentMemory resident;     // of the process, when this was written; of several: nothing
  Runtimes runtimes;
  std::array<uint64_t, kWalkReasons> walks{};   // samples by Walk
  std::array<bool, kMetricCount> has_metric{};  // which sample types the file had

  std::string drop_frames;  // pprof's regular expressions; empty in a profile of memprof: the usual ones
  std::string keep_frames;
  std::string doc_url;  // of who wrote it, for viewers; passed through

  std::vector<Mapping> mappings;  // main program first
  std::vector<Function> functions;
  std::vector<Location> locations;
  std::vector<Stack> stacks;
  std::vector<std::string> comments;  // those for people, without '#memprof.'
};

}  // namespace memprof::profile
