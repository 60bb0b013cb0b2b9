// SPDX-License-Identifier: Apache-2.0
// How the compiler lays the structs of memprof.h out; compared with a binding that was written by hand.
#include <stdio.h>

#include "memprof.h"

#define STRUCT(s) printf(#s " - 0 %zu\n", sizeof(s))
#define FIELD(s, m) printf(#s " " #m " %zu %zu\n", offsetof(s, m), sizeof(((s*)0)->m))

int main(void) {
  STRUCT(memprof_options);
  FIELD(memprof_options, struct_size);
  FIELD(memprof_options, max_depth);
  FIELD(memprof_options, rate_bytes);
  FIELD(memprof_options, max_live_samples);
  FIELD(memprof_options, max_stacks);
  FIELD(memprof_options, follow_fork);
  FIELD(memprof_options, private_memory);
  FIELD(memprof_options, python);
  FIELD(memprof_options, native_interpreter);
  STRUCT(memprof_stats);
  FIELD(memprof_stats, struct_size);
  FIELD(memprof_stats, state);
  FIELD(memprof_stats, rate_bytes);
  FIELD(memprof_stats, samples);
  FIELD(memprof_stats, live_samples);
  FIELD(memprof_stats, freed_samples);
  FIELD(memprof_stats, dropped_samples);
  FIELD(memprof_stats, dropped_weight_bytes);
  FIELD(memprof_stats, dropped_live_table);
  FIELD(memprof_stats, dropped_stack_table);
  FIELD(memprof_stats, replaced_samples);
  FIELD(memprof_stats, stacks);
  FIELD(memprof_stats, modules);
  FIELD(memprof_stats, frames);
  FIELD(memprof_stats, walks);
  FIELD(memprof_stats, min_depth);
  FIELD(memprof_stats, cold_paths);
  FIELD(memprof_stats, filter_saturated);
  FIELD(memprof_stats, arena_bytes);
  FIELD(memprof_stats, arena_used_bytes);
  FIELD(memprof_stats, muted_bytes);
  FIELD(memprof_stats, hooks);
  FIELD(memprof_stats, import_modules);
  FIELD(memprof_stats, import_patched);
  FIELD(memprof_stats, import_refused);
  FIELD(memprof_stats, import_foreign);
  FIELD(memprof_stats, import_unbound);
  FIELD(memprof_stats, python_version);
  FIELD(memprof_stats, python_objects);
  FIELD(memprof_stats, live_weight_bytes);
  FIELD(memprof_stats, peak_weight_bytes);
  FIELD(memprof_stats, python_stacks);
  FIELD(memprof_stats, reserved);
  STRUCT(memprof_record);
  FIELD(memprof_record, address);
  FIELD(memprof_record, size_bytes);
  FIELD(memprof_record, weight_bytes);
  FIELD(memprof_record, weight_count);
  FIELD(memprof_record, rate_bytes);
  FIELD(memprof_record, time_ns);
  FIELD(memprof_record, stack_id);
  FIELD(memprof_record, thread_id);
  STRUCT(memprof_totals);
  FIELD(memprof_totals, samples);
  FIELD(memprof_totals, size_bytes);
  FIELD(memprof_totals, weight_bytes);
  FIELD(memprof_totals, weight_count);
  FIELD(memprof_totals, variance_bytes);
  FIELD(memprof_totals, variance_count);
  FIELD(memprof_totals, max_missed_bytes);
  FIELD(memprof_totals, max_missed_count);
  STRUCT(memprof_stack);
  FIELD(memprof_stack, first_frame);
  FIELD(memprof_stack, frame_count);
  FIELD(memprof_stack, walk);
  FIELD(memprof_stack, allocated);
  FIELD(memprof_stack, freed);
  FIELD(memprof_stack, lifetime_ns);
  FIELD(memprof_stack, min_lifetime_ns);
  FIELD(memprof_stack, max_lifetime_ns);
  STRUCT(memprof_module);
  FIELD(memprof_module, start);
  FIELD(memprof_module, limit);
  FIELD(memprof_module, file_offset);
  FIELD(memprof_module, bias);
  FIELD(memprof_module, path_offset);
  FIELD(memprof_module, build_id_size);
  FIELD(memprof_module, flags);
  FIELD(memprof_module, build_id);
  STRUCT(memprof_heap);
  FIELD(memprof_heap, name_offset);
  STRUCT(memprof_snapshot_info);
  FIELD(memprof_snapshot_info, struct_size);
  FIELD(memprof_snapshot_info, pid);
  FIELD(memprof_snapshot_info, rate_bytes);
  FIELD(memprof_snapshot_info, time_unix_ns);
  FIELD(memprof_snapshot_info, time_ns);
  FIELD(memprof_snapshot_info, start_ns);
  FIELD(memprof_snapshot_info, live_weight_bytes);
  FIELD(memprof_snapshot_info, live_weight_count);
  FIELD(memprof_snapshot_info, end_ns);
  FIELD(memprof_snapshot_info, pid_namespace);
  STRUCT(memprof_symbol);
  FIELD(memprof_symbol, name_offset);
  FIELD(memprof_symbol, symbol_offset);
  STRUCT(memprof_runtime_frame);
  FIELD(memprof_runtime_frame, name_offset);
  FIELD(memprof_runtime_frame, file_offset);
  FIELD(memprof_runtime_frame, line);
  FIELD(memprof_runtime_frame, function_line);
  FIELD(memprof_runtime_frame, runtime);
  FIELD(memprof_runtime_frame, reserved);
  return 0;
}
