// SPDX-License-Identifier: Apache-2.0
// The list of all counters of a process and facts of a profile.  From it follow the counters of the arena
// (core/arena/statistics.h) and of a snapshot (core/reader/counters.h), the assignments to memprof_stats
// (capi/statistics.cc), the facts of a profile in the process and outside of it with the way they are merged
// (format/profile_facts.h), the profile's comment as it is written and read (format/pprof/comments.h,
// profile/pprof/pprof_statistics.cc), and the members of both JSON formats.
//
// A new counter is one line here, one at the end of memprof_stats in memprof.h, and one in the pages that
// tests/checks/counters.py names.  The order is that of the comment; counters of the arena that are kLater
// keep their order for ever: it is their place in files.
//
// Three kinds of lines:
//   COUNTER(name, place)
//       in memprof_stats, not in profiles
//   FILED(name, place, part, merge, report)
//       in memprof_stats, and under the same name in profiles, comments and JSON
//   FACT(type, name, key, json, part, merge, report)
//       of profiles only; `key` in the comment, `json` in JSON (nullptr: not there)
// with
//   place   where the arena has it.  FIRST: a member of Statistics, which files of version 6 have; no new
//           ones.  LATER: a counter that files have from version 8 on, made from this list.
//           DERIVED: read_counters() computes it
//   part    FactPart
//   merge   FactMerge
//   report  kReported: `memprof report --json` has it; kUnreported: only the JSON of a whole profile
#pragma once

namespace memprof {

// clang-format off
#define MEMPROF_COUNTERS(COUNTER, FILED, FACT)                                                               \
  COUNTER(rate_bytes, DERIVED)                                                                               \
  FILED(samples, DERIVED, kSamples, kSum, kReported)                                                         \
  FILED(live_samples, DERIVED, kSamples, kSum, kUnreported)                                                  \
  COUNTER(freed_samples, DERIVED)                                                                            \
  FILED(dropped_samples, DERIVED, kSamples, kSum, kReported)                                                 \
  FILED(dropped_weight_bytes, FIRST, kSamples, kSum, kUnreported)                                            \
  COUNTER(dropped_live_table, FIRST)                                                                         \
  COUNTER(dropped_stack_table, FIRST)                                                                        \
  FILED(replaced_samples, FIRST, kSamples, kSum, kUnreported)                                                \
  COUNTER(stacks, DERIVED)                                                                                   \
  COUNTER(modules, DERIVED)                                                                                  \
  COUNTER(frames, DERIVED)                                                                                   \
  COUNTER(min_depth, DERIVED)                                                                                \
  COUNTER(cold_paths, DERIVED)                                                                               \
  COUNTER(filter_saturated, FIRST)                                                                           \
  COUNTER(arena_bytes, DERIVED)                                                                              \
  COUNTER(arena_used_bytes, DERIVED)                                                                         \
  COUNTER(live_weight_bytes, FIRST)                                                                          \
  COUNTER(peak_weight_bytes, FIRST)                                                                          \
  /* The heap at its highest: when, after the profiler began; what of the process was resident then; the */  \
  /* most that was resident, as last asked.  0: unknown. */                                                  \
  FACT(uint64_t, peak_after_ns, "peak_after_ns", "peak_after_ns", kMoments, kOfOneProcess, kReported)        \
  FACT(uint64_t, peak_resident_bytes, "peak_resident", "peak_resident_bytes", kMoments, kOfOneProcess, kReported) \
  FACT(uint64_t, max_resident_bytes, "max_resident", "max_resident_bytes", kMoments, kOfOneProcess, kReported) \
  /* Of peak_resident_bytes: files and shared memory; free and kept, as allocators that count it said last. */ \
  FACT(uint64_t, peak_files_bytes, "peak_files", "peak_files_bytes", kMoments, kOfOneProcess, kReported)     \
  FACT(uint64_t, peak_free_bytes, "peak_free", "peak_free_bytes", kMoments, kOfOneProcess, kReported)        \
  /* How long the process had run when memprof was started in it: what it allocated before is not known. */  \
  /* 0: it was there from the beginning, or nobody knows. */                                                 \
  FACT(uint64_t, seen_after_ns, "seen_after_ns", nullptr, kMoments, kMax, kUnreported)                       \
  /* The process came to its end by itself; what is live is what was live before that end began. */          \
  FACT(bool, has_ended, "ended", "ended", kEnds, kAll, kReported)                                            \
  FACT(bool, is_before_end, "before_end", "live_is_before_end", kEnds, kAll, kReported)                      \
  FILED(muted_bytes, FIRST, kMissing, kSum, kReported)                                                       \
  FILED(folded_stacks, LATER, kFullTables, kSum, kReported)                                                  \
  FILED(thinned_samples, LATER, kFullTables, kSum, kReported)                                                \
  COUNTER(unclassed_frees, LATER)                                                                            \
  /* Of the run that the profile is of: processes that memprof was not in, and those whose data was not */   \
  /* read.  Who is in the process sees no other: 0 there. */                                                 \
  FACT(uint64_t, unseen_processes, "unseen_processes", "unseen_processes", kMissing, kSum, kReported)        \
  FACT(uint64_t, uncollected_processes, "uncollected_processes", "uncollected_processes", kMissing, kSum, kReported) \
  /* A budget (core/rates/budget.h): parts in a million of the process's CPU time, 0: none; that time, and what */ \
  /* samples took of it, since the profiler began.                                                           */ \
  FILED(budget_ppm, LATER, kBudget, kMax, kReported)                                                         \
  FILED(cpu_ns, LATER, kBudget, kSum, kReported)                                                             \
  FILED(sampling_ns, LATER, kBudget, kSum, kReported)                                                        \
  /* Unloaded modules, functions of runtimes, and heaps, that share a name with others since their table was */ \
  FILED(folded_modules, LATER, kFullTables, kSum, kReported)                                                 \
  FILED(folded_functions, LATER, kFullTables, kSum, kReported)                                               \
  FILED(folded_heaps, LATER, kFullTables, kSum, kReported)                                                   \
  COUNTER(hooks, FIRST)                                                                                      \
  COUNTER(import_modules, FIRST)                                                                             \
  COUNTER(import_patched, FIRST)                                                                             \
  FILED(import_refused, FIRST, kImports, kSum, kUnreported)                                                  \
  FILED(import_foreign, FIRST, kImports, kSum, kUnreported)                                                  \
  FILED(import_unbound, FIRST, kImports, kSum, kUnreported)                                                  \
  /* Mappings that the program made itself (core/mappings/), since the start; ranges that found no room. */  \
  COUNTER(mappings, LATER)                                                                                   \
  FILED(dropped_mappings, LATER, kFullTables, kSum, kReported)                                               \
  /* What was resident when that was measured, and who held the anonymous memory of it (format/memory_part.h). */\
  FACT(uint64_t, measured_resident_bytes, "measured_resident", "measured_resident_bytes", kMemory, kSum, kReported) \
  FACT(uint64_t, anonymous_mapped_bytes, "anonymous_mapped", "anonymous_mapped_bytes", kMemory, kSum, kReported) \
  FACT(uint64_t, anonymous_allocator_bytes, "anonymous_allocator", "anonymous_allocator_bytes", kMemory, kSum, kReported) \
  FACT(uint64_t, anonymous_malloc_bytes, "anonymous_malloc", "anonymous_malloc_bytes", kMemory, kSum, kReported) \
  FACT(uint64_t, anonymous_stacks_bytes, "anonymous_stacks", "anonymous_stacks_bytes", kMemory, kSum, kReported) \
  FACT(uint64_t, anonymous_modules_bytes, "anonymous_modules", "anonymous_modules_bytes", kMemory, kSum, kReported) \
  FACT(uint64_t, anonymous_own_bytes, "anonymous_own", "anonymous_own_bytes", kMemory, kSum, kReported) \
  FACT(uint64_t, anonymous_unseen_bytes, "anonymous_unseen", "anonymous_unseen_bytes", kMemory, kSum, kReported) \
  /* As unseen_processes: those that memprof was in, but that had no sample. */                              \
  FACT(uint64_t, unsampled_processes, "unsampled_processes", "unsampled_processes", kMissing, kSum, kReported) \
  /* Slots that lead to memprof, as often as another tool wrote over them, and for how long, at most, what went */ \
  /* through them was not seen. */                                                                           \
  FILED(import_taken, LATER, kImports, kSum, kUnreported)                                                    \
  FILED(import_unseen_ns, LATER, kImports, kMax, kUnreported)                                                \
  /* Libraries that were opened in a way that makes them call an allocator which is not hooked. */             \
  FILED(bypassing_libraries, LATER, kMissing, kSum, kReported)                                               \
  /* As unseen_processes: those that had samples, and have no profile because they held next to nothing; what */ \
  /* they allocated in all, as estimated. */                                                                  \
  FACT(uint64_t, small_processes, "small_processes", "small_processes", kMissing, kSum, kReported)           \
  FACT(uint64_t, small_allocated_bytes, "small_allocated", "small_allocated_bytes", kMissing, kSum, kReported) \
  /* peak_resident_bytes is of shortly before the peak: the heap grew until the process was killed. */         \
  FACT(bool, is_peak_resident_before, "peak_resident_before", "peak_resident_is_before", kMoments, kOfOneProcess, kReported) \
  /* Who ran the process saw the system's OOM killer end it (of a merge: one of them), and the memory that its group */ \
  /* may have, 0: no limit, or not known. */                                                                   \
  FACT(bool, is_oom_killed, "oom_killed", "oom_killed", kEnds, kMax, kReported)                              \
  FACT(uint64_t, memory_limit_bytes, "memory_limit", "memory_limit_bytes", kMoments, kMax, kReported)        \
  /* A look that was taken because the memory of a group (cgroup) got short: the percent of its limit that it had */ \
  /* just passed, what it used; or its processes waited for memory.  The time in which one of them waited, and all, in */ \
  /* the ten seconds before, in parts in a million, of any such look; of the machine where the group has no figure. */ \
  FACT(uint64_t, pressure_percent, "pressure", "memory_pressure_percent", kMoments, kMax, kReported)         \
  FACT(uint64_t, memory_used_bytes, "memory_used", "memory_used_bytes", kMoments, kMax, kReported)           \
  FACT(bool, is_memory_stalled, "memory_stalled", "memory_stalled", kEnds, kMax, kReported)                  \
  FACT(uint64_t, stall_some_ppm, "stall_some", "memory_stall_some_ppm", kMoments, kMax, kReported)           \
  FACT(uint64_t, stall_full_ppm, "stall_full", "memory_stall_full_ppm", kMoments, kMax, kReported)           \
  FACT(bool, is_stall_of_machine, "stall_of_machine", "memory_stall_is_of_machine", kEnds, kMax, kReported)
// clang-format on

// For lines that are not looked at.
#define MEMPROF_NO_FACT(...)

}  // namespace memprof
