// SPDX-License-Identifier: Apache-2.0
// Services that write profiles from inside the process, used by each other and by capi: settings from the
// environment (autostart.cc), dumps by signal and interval (dump.cc), profiles as files (write_profile.cc).
// Results are those of memprof.h.
#pragma once

#include <cstddef>
#include <cstdint>

#include "core/arena/arena.h"
#include "core/arena/memory_limit.h"
#include "core/engine/runtimes.h"
#include "core/mappings/mappings.h"
#include "core/reader/snapshot.h"
#include "core/sampling/rate_law.h"

namespace memprof {

struct RuntimeHeap;

struct Configuration {
  Limits limits;
  uint64_t rate_bytes;
  const char* profile_path;  // pattern; nullptr: no profile is written
  const char* arena_folder;  // "": private memory
  bool follow_fork;
  bool keep_arena;  // for a reader, which writes the profile
  runtimes::Settings runtimes = {};
  Budget budget = {};
  uint64_t memory_limit_bytes = kMemoryLimitOfGroup;
  mappings::Recording mappings = mappings::Recording::kOnRequest;  // of the program's own
  uint64_t run_token = 0;  // of the run of `memprof run` that this process belongs to; 0: none
};

// The defaults, overridden by the MEMPROF_* variables of the environment.  A wrong value is reported on standard
// error, once in a process, and ignored.
Configuration read_configuration();
// Only the arena folder of it, and the settings that `memprof run` gives for arenas.
const char* read_arena_folder();
void read_run(Configuration* configuration);

// The limit of memory for tables: `given`, or, where that is 0, what follows from other settings.
uint64_t memory_limit_of(uint64_t given, uint64_t rate_bytes, bool has_limits);

// "NAME=VALUE is ignored: it must be WANTED", on standard error.
void complain_of_variable(const char* name, const char* value, const char* wanted);
// What a path must be, for complaints about it.
inline constexpr char kWantedPattern[] = "a path in which % stands only in %p, %n, %t and %%";
inline constexpr char kWantedEnd[] =
    "a path that ends in .pb.gz or .pb (memprof export makes other formats of such a file)";
// Why a profile could not be written: the text of an error, or of errno where it is a system call's.
const char* reason_text(int error);

// Starts the dumps that the MEMPROF_DUMP_* variables ask for.
void start_dumps(const Configuration& configuration);
// At the end of the process: reports dumps that could not be written.
void end_dumps();
// From then on a signal that asks for a dump is ignored.
void stop_dumps();

int take_snapshot(Snapshot** snapshot, Snapshot::Content content = Snapshot::Content::kShared);

// Of the arena in the file of another process, or of one that is gone.
int open_snapshot(const char* path, Snapshot** snapshot);

// A snapshot as pprof, to a descriptor.  `js`: the runtime's own heap besides (dump/runtime_heap.h); nullptr: the
// snapshot's, if it has one.
int write_snapshot(const Snapshot& snapshot, int fd, bool has_gzip = false, const RuntimeHeap* js = nullptr);
int write_profile(int fd, bool has_gzip = false);

// The same to the file that `pattern` names (format/path_pattern.h), through a temporary file beside it.  The end
// of the name says whether it is compressed (format/pprof/pprof_name.h).  `written`, if it is not nullptr, gets the
// name.  `snapshot`: that is written; nullptr: one that is taken now.
int write_profile_file(const char* pattern, bool overwrite, char* written, size_t written_bytes,
                       const Snapshot* snapshot = nullptr, const RuntimeHeap* js = nullptr);

}  // namespace memprof
