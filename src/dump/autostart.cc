// SPDX-License-Identifier: Apache-2.0
// Profiling without a call: the MEMPROF_* variables of the environment.
//   MEMPROF_PROFILE            start at once, write the profile to this path at exit (patterns:
//                              format/path_pattern.h; .pb.gz is compressed, .pb is not)
//   MEMPROF_RATE               mean bytes between samples, like 512k; without it, or a budget, the rate starts fine
//   MEMPROF_BUDGET             the share of the process's CPU time that sampling may take, like 0.5%: the rate follows
//   MEMPROF_MIN_RATE, MEMPROF_MAX_RATE   between these
//   MEMPROF_MAX_LIVE_SAMPLES, MEMPROF_MAX_STACKS, MEMPROF_MAX_DEPTH   limits
//   MEMPROF_MEMORY             all tables together stay within this much memory, like 32m
//   MEMPROF_FOLLOW_FORK        1: fork children get a profile of their own
//   those of runtimes (runtimes::variable_of)
//                              0: the runtime is not looked for; stacks: for its frames, not its objects
//   MEMPROF_MMAP               1: the program's own anonymous and shared mappings are recorded; 0: they are not; else
//                              where a language's runtime requests it, and shown where they are much
//   MEMPROF_NATIVE_INTERPRETER 1: the frames of evaluation loops stay in the stacks
//   MEMPROF_ARENA_DIR          folder for the file that `memprof live` reads; empty: no file
// and those that `memprof run` sets:
//   MEMPROF_RUN_PID            the process that it started; without MEMPROF_FOLLOW_FORK only that is profiled
//   MEMPROF_KEEP_ARENA         1: the arena's file stays, and memprof makes the profile of it;
//                              MEMPROF_PROFILE is for where there can be no such file
//   MEMPROF_RUN_TOKEN          a number that only processes of the run know: it goes into their arenas
#include <atomic>
#include <cerrno>
#include <cstring>

#include "core/counts/allocator_counts.h"
#include "core/engine/ending.h"
#include "core/engine/profiler.h"
#include "core/engine/runtimes.h"
#include "core/mappings/mappings.h"
#include "core/sampling/sampler.h"
#include "dump/dump.h"
#include "dump/resident_memory.h"
#include "dump/run_tally.h"
#include "format/files/arena_name.h"
#include "format/path_pattern.h"
#include "format/pprof/pprof_name.h"
#include "format/share_text.h"
#include "format/size_text.h"
#include "memprof.h"
#include "platform/files.h"
#include "platform/messages.h"
#include "platform/modules.h"
#include "platform/process.h"

namespace memprof {
namespace {

std::atomic<bool> g_complained{false};
char g_profile_path[4096];  // a copy: the program may change its environment; "": no profile at exit
bool g_keep_arena = false;
std::atomic<bool> g_ended{false};

void read_number(const char* name, uint64_t min, uint64_t max, const char* wanted, bool quiet,
                 uint64_t* value) {
  const char* text = platform::environment(name);
  if (text == nullptr || *text == '\0') {
    return;
  }
  uint64_t n = 0;
  if (parse_size(text, &n) && n >= min && n <= max) {
    *value = n;
  } else if (!quiet) {
    complain_of_variable(name, text, wanted);
  }
}

void read_budget(bool quiet, Budget* budget) {
  const char* text = platform::environment("MEMPROF_BUDGET");
  if (text != nullptr && *text != '\0' && strcmp(text, "0") != 0) {
    uint32_t ppm = 0;
    if (parse_share(text, &ppm) && ppm <= Budget::kMaxPpm) {
      budget->share_ppm = ppm;
    } else if (!quiet) {
      complain_of_variable("MEMPROF_BUDGET", text, "a share of the CPU time like 0.5%, at most 50%");
    }
  }
  constexpr char kWanted[] = "bytes like 16k, 1M, and MEMPROF_MIN_RATE no more than MEMPROF_MAX_RATE";
  Budget bounds = *budget;
  read_number("MEMPROF_MIN_RATE", 1, kMaxRateBytes, kWanted, quiet, &bounds.min_rate_bytes);
  read_number("MEMPROF_MAX_RATE", 1, kMaxRateBytes, kWanted, quiet, &bounds.max_rate_bytes);
  if (bounds.min_rate_bytes <= bounds.max_rate_bytes) {
    *budget = bounds;
  } else if (!quiet) {
    const char* given = platform::environment("MEMPROF_MIN_RATE");
    const bool is_min = given != nullptr && *given != '\0';
    complain_of_variable(is_min ? "MEMPROF_MIN_RATE" : "MEMPROF_MAX_RATE",
                         is_min ? given : platform::environment("MEMPROF_MAX_RATE"), kWanted);
  }
}

bool is_set(const char* name) {
  const char* text = platform::environment(name);
  return text != nullptr && *text != '\0' && strcmp(text, "0") != 0;
}

// Of a runtime, by its variable; nullptr: there is no such runtime.
runtimes::Use read_use(const char* name, bool quiet) {
  const char* text = name != nullptr ? platform::environment(name) : nullptr;
  if (text == nullptr || *text == '\0' || strcmp(text, "1") == 0) {
    return runtimes::Use::kAll;
  }
  if (strcmp(text, "0") == 0) {
    return runtimes::Use::kNothing;
  }
  if (strcmp(text, "stacks") == 0) {
    return runtimes::Use::kStacksOnly;
  }
  if (!quiet) {
    complain_of_variable(name, text, "0, 1 or stacks");
  }
  return runtimes::Use::kAll;
}

void say_not_written(const char* path, int error) {
  const char* reason = reason_text(error);
  if (error == MEMPROF_ERR_EXISTS) {
    reason = "it is there already; remove it, or put %p (process id) into MEMPROF_PROFILE";
  } else if (error == MEMPROF_ERR_INVALID) {
    reason = "the path is too long, or has a % that is not %p, %n, %t or %%";
  }
  const char* const parts[] = {"the profile was not written to ", path, ": ", reason, nullptr};
  platform::message(parts);
}

void write_at_end() {
  char path[4096];
  path[0] = '\0';  // and stays so where there was no memory to expand the pattern
  const int error = write_profile_file(g_profile_path, false, path, sizeof(path));
  if (error != MEMPROF_OK) {
    say_not_written(path[0] == '\0' ? g_profile_path : path, error);
  }
}

}  // namespace

void complain_of_variable(const char* name, const char* value, const char* wanted) {
  const char* const parts[] = {name, "=", value, " is ignored: it must be ", wanted, nullptr};
  platform::message(parts);
}

const char* reason_text(int error) {
  return error == MEMPROF_ERR_SYSTEM ? platform::error_text(-errno) : memprof_strerror(error);
}

const char* read_arena_folder() {
  const char* folder = platform::environment(kArenaFolderVariable);
  return folder != nullptr ? folder : platform::arena_folder();
}

void read_run(Configuration* c) {
  c->keep_arena = is_set("MEMPROF_KEEP_ARENA");
  const char* token = platform::environment("MEMPROF_RUN_TOKEN");
  if (token == nullptr || !parse_size(token, &c->run_token)) {
    c->run_token = 0;
  }
}

// Who sets limits himself, or wants every allocation, gets what he asks for.
uint64_t memory_limit_of(uint64_t given, uint64_t rate_bytes, bool has_limits) {
  return given != 0 ? given : has_limits || rate_bytes <= 1 ? kNoMemoryLimit : kMemoryLimitOfGroup;
}

Configuration read_configuration() {
  const bool quiet = g_complained.exchange(true, std::memory_order_relaxed);
  Configuration c{kDefaultLimits, kDefaultRateBytes, nullptr, nullptr, false, false, {}, {}};
  constexpr uint64_t kNone = UINT64_MAX;
  uint64_t rate = kNone;
  read_number("MEMPROF_RATE", 0, kMaxRateBytes, "bytes like 512k, 64k, 1M, or 0 for every allocation", quiet,
              &rate);
  c.rate_bytes = rate != kNone ? rate : kDefaultRateBytes;
  read_budget(quiet, &c.budget);
  c.budget.starts_fine = rate == kNone && c.budget.share_ppm == 0;
  uint64_t memory = 0;
  read_number("MEMPROF_MEMORY", kMinMemoryLimit, UINT64_MAX - 1, "bytes like 32m, at least 4M", quiet,
              &memory);
  c.limits = default_limits(c.rate_bytes);
  uint64_t depth = c.limits.max_depth;
  read_number("MEMPROF_MAX_LIVE_SAMPLES", 1, kMaxLiveSamples, "a number from 1 to 1G", quiet,
              &c.limits.max_live_samples);
  read_number("MEMPROF_MAX_STACKS", 1, kMaxStacks, "a number from 1 to 16M", quiet, &c.limits.max_stacks);
  read_number("MEMPROF_MAX_DEPTH", 1, kMaxDepth, "a number from 1 to 1024", quiet, &depth);
  c.limits.max_depth = static_cast<uint32_t>(depth);
  const Limits usual = default_limits(c.rate_bytes);
  c.memory_limit_bytes = memory_limit_of(
      memory, c.rate_bytes,
      c.limits.max_live_samples != usual.max_live_samples || c.limits.max_stacks != usual.max_stacks);
  const char* path = platform::environment("MEMPROF_PROFILE");
  if (path != nullptr && *path != '\0') {
    char expanded[4096];
    const bool is_pattern =
        strlen(path) < sizeof(expanded) && expand_path(path, 1, "", 1, expanded, sizeof(expanded));
    if (is_pattern && profile::pprof_end_of(path) != nullptr) {
      c.profile_path = path;
    } else if (!quiet) {
      complain_of_variable("MEMPROF_PROFILE", path, is_pattern ? kWantedEnd : kWantedPattern);
    }
  }
  c.arena_folder = read_arena_folder();
  c.follow_fork = is_set("MEMPROF_FOLLOW_FORK");
  read_run(&c);
  for (uint32_t i = 0; i < kMaxRuntimes; ++i) {
    c.runtimes.uses[i] = read_use(runtimes::variable_of(i + 1), quiet);
  }
  c.runtimes.native_interpreter = is_set("MEMPROF_NATIVE_INTERPRETER");
  const char* mmap = platform::environment("MEMPROF_MMAP");
  c.mappings = is_set("MEMPROF_MMAP")             ? mappings::Recording::kAlways
               : mmap == nullptr || *mmap == '\0' ? mappings::Recording::kOnRequest
                                                  : mappings::Recording::kNever;
  return c;
}

void autostart() {
  const char* started = platform::environment("MEMPROF_RUN_PID");
  uint64_t pid = 0;
  const bool is_started = started == nullptr || (parse_size(started, &pid) && pid == platform::process_id());
  if ((!is_started && !is_set("MEMPROF_FOLLOW_FORK")) ||
      platform::environment("MEMPROF_PROFILE") == nullptr) {
    return;
  }
  const Configuration c = read_configuration();
  if (c.profile_path == nullptr) {
    return;
  }
  runtimes::configure(c.runtimes);
  mappings::configure(c.mappings);
  const char* const counts = platform::environment("MEMPROF_ALLOCATOR_COUNTS");
  counts::configure(counts == nullptr || strcmp(counts, "0") != 0);
  // A program may start many small processes: one without a sample must cost nothing.
  profiler::Sharing sharing;
  sharing.folder = c.arena_folder;
  sharing.follow_fork = c.follow_fork;
  sharing.defer_tables = c.keep_arena && !is_started;
  sharing.keep_each = c.keep_arena;
  sharing.memory_limit_bytes = c.memory_limit_bytes;
  sharing.run_token = c.run_token;
  int error = platform::find_other_copy() != nullptr ? MEMPROF_ERR_OTHER_COPY : MEMPROF_OK;
  if (error == MEMPROF_OK && profiler::initialize(c.limits, c.rate_bytes, sharing, c.budget) != Status::kOk) {
    error = MEMPROF_ERR_NO_MEMORY;
  }
  if (error == MEMPROF_OK && profiler::start() != Status::kOk) {
    error = MEMPROF_ERR_STATE;
  }
  if (error != MEMPROF_OK) {
    const char* const parts[] = {"not profiling: ", memprof_strerror(error), nullptr};
    platform::message(parts);
    return;
  }
  memcpy(g_profile_path, c.profile_path, strlen(c.profile_path) + 1);
  g_keep_arena = c.keep_arena;
  if (c.keep_arena && c.follow_fork) {
    join_run(c.arena_folder, c.run_token);
  }
  watch_resident_memory();
  start_dumps(c);
}

void forget_autostart() {
  g_profile_path[0] = '\0';
  g_keep_arena = false;
  g_ended.store(false, std::memory_order_relaxed);
  stop_dumps();
}

void end_of_process() {
  const Arena arena = profiler::arena();
  if (platform::is_sandboxed()) {
    if (arena && profiler::is_owner() && !g_ended.exchange(true, std::memory_order_relaxed)) {
      profiler::note_end();  // the file of the arena stays: what is in it can be read
    }
    return;
  }
  // A vfork child ends in its parent's memory.
  if (!arena || !profiler::is_owner() || arena.header().process_id != platform::process_id() ||
      g_ended.exchange(true, std::memory_order_relaxed)) {
    return;
  }
  profiler::note_end();
  end_dumps();
  const char* const arena_path = profiler::arena_path();
  const bool has_file = arena_path[0] != '\0';
  if (g_keep_arena && has_file) {
    return;
  }
  // Handlers of exit that come later tell of the begin of the end: nobody would read what a look found then.
  profiler::watch_end(nullptr);
  if (g_profile_path[0] != '\0') {
    write_at_end();
  }
  if (has_file && !platform::file_remove(arena_path)) {
    arena.give_back();
  }
}

}  // namespace memprof
