# SPDX-License-Identifier: Apache-2.0
"""memprof.h for ctypes, written by hand: what a host of another language sees of the C API.

layout() is compared with what the C compiler says (programs/layout.c).
"""
import ctypes
from ctypes import (POINTER, c_char, c_char_p, c_double, c_int, c_int64, c_size_t, c_uint8, c_uint32, c_uint64, c_void_p)

OK, INVALID, STATE, NO_MEMORY, SYSTEM, EXISTS, FORKED, NO_HOOKS, FORMAT, LIMIT, OTHER_COPY = (-i for i in range(11))
UNINITIALIZED, INITIALIZED, ACTIVE, STOPPED, TERMINATED = range(5)
OVERWRITE = 1
PYTHON_NONE, PYTHON_HOOKED, PYTHON_BY_MALLOC, PYTHON_REFUSED = range(4)
HOOKS_NONE, HOOKS_INTERPOSED, HOOKS_IMPORTS = range(3)
NAMES = ("memprof_strerror memprof_version memprof_runtime_name memprof_options_init memprof_init memprof_start memprof_stop memprof_rescan_imports "
         "memprof_enable_gc_tracking memprof_get_gc_epoch memprof_describe_imports memprof_attach_prepare_hooks memprof_attach_prepare_imports "
         "memprof_shutdown memprof_set_rate memprof_get_stats memprof_reset_peak memprof_record_thread memprof_get_snapshot memprof_free_snapshot "
         "memprof_snapshot_get_info memprof_snapshot_records memprof_snapshot_peaks memprof_snapshot_lifetimes memprof_snapshot_rates "
         "memprof_snapshot_mappings memprof_snapshot_get_memory memprof_snapshot_younger memprof_lifetime_bounds memprof_estimate_samples memprof_estimate_totals memprof_estimate_difference memprof_snapshot_stacks memprof_snapshot_frames "
         "memprof_snapshot_runtime_frames memprof_snapshot_frame_modules memprof_snapshot_modules memprof_snapshot_stack_heaps memprof_snapshot_heaps "
         "memprof_snapshot_strings memprof_resolve_symbols memprof_snapshot_symbols "
         "memprof_heap_register memprof_report_alloc memprof_report_free memprof_report_realloc "
         "memprof_report_realloc_begin memprof_report_realloc_end memprof_report_free_range memprof_report_backing "
         "memprof_backing_begin memprof_backing_end memprof_abi1_alloc memprof_abi1_free memprof_abi1_realloc memprof_abi1_thread_count "
         "memprof_write_profile memprof_write_profile_fd memprof_snapshot_open memprof_snapshot_get_stats "
         "memprof_snapshot_program memprof_snapshot_write_fd memprof_snapshot_write_profile memprof_snapshot_read_resident memprof_snapshot_get_resident "
         "memprof_snapshot_resident_shares").split()


MAX_RUNTIMES = 16


class Options(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("max_depth", c_uint32), ("rate_bytes", c_uint64),
                ("max_live_samples", c_uint64), ("max_stacks", c_uint64), ("follow_fork", c_uint32),
                ("private_memory", c_uint32), ("python", c_uint32), ("native_interpreter", c_uint32),
                ("runtimes", c_uint32 * MAX_RUNTIMES), ("budget_ppm", c_uint32), ("mappings", c_uint32),
                ("min_rate_bytes", c_uint64), ("max_rate_bytes", c_uint64), ("memory_limit_bytes", c_uint64)]


class RuntimeStats(ctypes.Structure):
    _fields_ = [("version", c_uint32), ("objects", c_uint32), ("stacks", c_uint32), ("reserved", c_uint32)]


class Stats(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("state", c_uint32), ("rate_bytes", c_uint64), ("samples", c_uint64),
                ("live_samples", c_uint64), ("freed_samples", c_uint64), ("dropped_samples", c_uint64),
                ("dropped_weight_bytes", c_uint64), ("dropped_live_table", c_uint64),
                ("dropped_stack_table", c_uint64), ("replaced_samples", c_uint64), ("stacks", c_uint64),
                ("modules", c_uint64), ("frames", c_uint64), ("walks", c_uint64 * 6), ("min_depth", c_uint64),
                ("cold_paths", c_uint64), ("filter_saturated", c_uint64), ("arena_bytes", c_uint64),
                ("arena_used_bytes", c_uint64), ("muted_bytes", c_uint64),
                ("hooks", c_uint64), ("import_modules", c_uint64), ("import_patched", c_uint64),
                ("import_refused", c_uint64), ("import_foreign", c_uint64), ("import_unbound", c_uint64),
                ("python_version", c_uint32), ("python_objects", c_uint32),
                ("live_weight_bytes", c_uint64), ("peak_weight_bytes", c_uint64),
                ("python_stacks", c_uint32), ("reserved", c_uint32), ("folded_stacks", c_uint64),
                ("thinned_samples", c_uint64), ("runtimes", RuntimeStats * MAX_RUNTIMES),
                ("unclassed_frees", c_uint64),
                ("budget_ppm", c_uint64), ("cpu_ns", c_uint64), ("sampling_ns", c_uint64),
                ("mappings", c_uint64), ("dropped_mappings", c_uint64),
                ("folded_modules", c_uint64), ("folded_functions", c_uint64), ("folded_heaps", c_uint64),
                ("import_taken", c_uint64), ("import_unseen_ns", c_uint64), ("bypassing_libraries", c_uint64)]


class Record(ctypes.Structure):
    _fields_ = [("address", c_uint64), ("size_bytes", c_uint64), ("rate_bytes", c_uint64), ("time_ns", c_uint64),
                ("stack_id", c_uint32), ("thread_id", c_uint32), ("weight_bytes", c_double), ("weight_count", c_double)]


class Totals(ctypes.Structure):
    _fields_ = [("samples", c_uint64), ("size_bytes", c_uint64), ("weight_bytes", c_double),
                ("weight_count", c_double), ("variance_bytes", c_double), ("variance_count", c_double),
                ("max_missed_bytes", c_double), ("max_missed_count", c_double)]


class Stack(ctypes.Structure):
    _fields_ = [("first_frame", c_uint64), ("frame_count", c_uint32), ("walk", c_uint32), ("allocated", Totals),
                ("freed", Totals), ("lifetime_ns", c_double), ("min_lifetime_ns", c_uint64),
                ("max_lifetime_ns", c_uint64)]


class RateUse(ctypes.Structure):
    _fields_ = [("rate_bytes", c_uint64), ("weight_bytes", c_uint64), ("time_ns", c_uint64)]


class Resident(ctypes.Structure):
    _fields_ = ([("struct_size", c_uint32), ("state", c_uint32)] +
                [(name + "_bytes", c_uint64) for name in ("rss", "swap", "heap", "files", "shared", "stacks", "code", "runtime", "memprof",
                                                          "anonymous", "live", "absent", "slack", "free")] +
                [("unexplained_bytes", c_double), ("fragmentation", c_double)] +
                [(name, c_uint64) for name in ("counted_bytes", "tables_bytes", "counted_age_ns")])


class Lifetime(ctypes.Structure):
    _fields_ = [("stack_id", c_uint32), ("lifetime_class", c_uint32), ("samples", c_uint64), ("size_bytes", c_uint64),
                ("weight_bytes", c_double), ("weight_count", c_double)]


class Mapping(ctypes.Structure):
    _fields_ = [("start", c_uint64), ("limit", c_uint64), ("resident_bytes", c_uint64), ("time_ns", c_uint64),
                ("stack_id", c_uint32), ("thread_id", c_uint32)]


class Memory(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("reserved", c_uint32), ("time_ns", c_uint64), ("resident_bytes", c_uint64),
                ("mapped_bytes", c_uint64), ("allocator_bytes", c_uint64), ("malloc_bytes", c_uint64),
                ("stack_bytes", c_uint64), ("module_bytes", c_uint64), ("own_bytes", c_uint64), ("unseen_bytes", c_uint64)]


class Module(ctypes.Structure):
    _fields_ = [("start", c_uint64), ("limit", c_uint64), ("file_offset", c_uint64), ("bias", c_uint64),
                ("path_offset", c_uint64), ("build_id_size", c_uint32), ("flags", c_uint32),
                ("build_id", c_uint8 * 32)]


class RuntimeFrame(ctypes.Structure):
    _fields_ = [("name_offset", c_uint64), ("file_offset", c_uint64), ("line", c_uint32), ("function_line", c_uint32),
                ("runtime", c_uint32), ("reserved", c_uint32)]


class Heap(ctypes.Structure):
    _fields_ = [("name_offset", c_uint64)]


class Estimate(ctypes.Structure):
    _fields_ = [("value", c_double), ("low", c_double), ("high", c_double)]


class SampleGroup(ctypes.Structure):
    _fields_ = [("size_bytes", c_uint64), ("rate_bytes", c_uint64), ("samples", c_uint64)]


class Info(ctypes.Structure):
    _fields_ = [("struct_size", c_uint32), ("pid", c_uint32), ("rate_bytes", c_uint64), ("time_unix_ns", c_uint64),
                ("time_ns", c_uint64), ("start_ns", c_uint64), ("live_weight_bytes", c_double),
                ("live_weight_count", c_double), ("end_ns", c_uint64), ("pid_namespace", c_uint64),
                ("end_begun_ns", c_uint64), ("peak_ns", c_uint64), ("peak_weight_bytes", c_double),
                ("peak_weight_count", c_double), ("peak_resident_bytes", c_uint64), ("max_resident_bytes", c_uint64), ("peak_files_bytes", c_uint64), ("peak_free_bytes", c_uint64)]


class Symbol(ctypes.Structure):
    _fields_ = [("name_offset", c_uint64), ("symbol_offset", c_uint64)]


STRUCTS = {"memprof_options": Options, "memprof_runtime_stats": RuntimeStats, "memprof_stats": Stats, "memprof_record": Record, "memprof_totals": Totals,
           "memprof_stack": Stack, "memprof_rate_use": RateUse, "memprof_resident": Resident, "memprof_lifetime": Lifetime, "memprof_mapping": Mapping, "memprof_memory": Memory, "memprof_module": Module, "memprof_heap": Heap, "memprof_estimate": Estimate, "memprof_sample_group": SampleGroup, "memprof_snapshot_info": Info,
           "memprof_symbol": Symbol, "memprof_runtime_frame": RuntimeFrame}


def layout():
    """Lines like those of programs/layout.c: struct, member, offset, size."""
    lines = []
    for name, struct in STRUCTS.items():
        lines.append(f"{name} - 0 {ctypes.sizeof(struct)}")
        for member, _ in struct._fields_:
            field = getattr(struct, member)
            lines.append(f"{name} {member} {field.offset} {field.size}")
    return lines


def load(path=None):
    """The library: preloaded into this process already (None), or the file."""
    lib = ctypes.CDLL(path, use_errno=True)
    snapshot, count = c_void_p, POINTER(c_uint64)
    signatures = {
        "memprof_strerror": (c_char_p, [c_int]),
        "memprof_version": (c_char_p, []),
        "memprof_runtime_name": (c_char_p, [c_uint32]),
        "memprof_rescan_imports": (c_int, []),
        "memprof_enable_gc_tracking": (c_int, []),
        "memprof_get_gc_epoch": (c_uint64, []),
        "memprof_attach_prepare_hooks": (c_int, [c_void_p]),
        "memprof_attach_prepare_imports": (c_int, []),
        "memprof_describe_imports": (c_int64, [c_char_p, c_uint64]),
        "memprof_options_init": (c_int, [POINTER(Options), c_uint32]),
        "memprof_init": (c_int, [POINTER(Options)]),
        "memprof_start": (c_int, []),
        "memprof_stop": (c_int, []),
        "memprof_shutdown": (c_int, []),
        "memprof_set_rate": (c_int, [c_uint64]),
        "memprof_get_stats": (c_int, [POINTER(Stats)]),
        "memprof_reset_peak": (c_int, []),
        "memprof_record_thread": (c_int, [c_uint32]),
        "memprof_get_snapshot": (c_int, [POINTER(snapshot)]),
        "memprof_free_snapshot": (None, [snapshot]),
        "memprof_snapshot_get_info": (c_int, [snapshot, POINTER(Info)]),
        "memprof_snapshot_records": (POINTER(Record), [snapshot, count]),
        "memprof_snapshot_peaks": (POINTER(Totals), [snapshot, count]),
        "memprof_snapshot_lifetimes": (POINTER(Lifetime), [snapshot, count]),
        "memprof_snapshot_rates": (POINTER(RateUse), [snapshot, count]),
        "memprof_snapshot_mappings": (POINTER(Mapping), [snapshot, count]),
        "memprof_snapshot_get_memory": (c_int, [snapshot, POINTER(Memory)]),
        "memprof_snapshot_read_resident": (c_int, [snapshot, c_uint32]),
        "memprof_snapshot_get_resident": (c_int, [snapshot, POINTER(Resident)]),
        "memprof_snapshot_resident_shares": (POINTER(ctypes.c_float), [snapshot, count]),
        "memprof_snapshot_younger": (c_int, [snapshot, c_uint64, POINTER(Totals), c_uint64, count]),
        "memprof_lifetime_bounds": (POINTER(c_uint64), [count]),
        "memprof_estimate_samples": (c_int, [POINTER(SampleGroup), c_uint64, POINTER(Estimate), POINTER(Estimate)]),
        "memprof_estimate_totals": (c_int, [POINTER(Totals), c_uint64, POINTER(Estimate), POINTER(Estimate)]),
        "memprof_estimate_difference": (c_int, [POINTER(SampleGroup), c_uint64, POINTER(SampleGroup), c_uint64,
                                                POINTER(Estimate), POINTER(Estimate)]),
        "memprof_snapshot_stacks": (POINTER(Stack), [snapshot, count]),
        "memprof_snapshot_frames": (POINTER(c_uint64), [snapshot, count]),
        "memprof_snapshot_runtime_frames": (POINTER(RuntimeFrame), [snapshot, count]),
        "memprof_snapshot_frame_modules": (POINTER(c_uint32), [snapshot, count]),
        "memprof_snapshot_modules": (POINTER(Module), [snapshot, count]),
        "memprof_snapshot_stack_heaps": (POINTER(c_uint32), [snapshot, count]),
        "memprof_snapshot_heaps": (POINTER(Heap), [snapshot, count]),
        "memprof_snapshot_strings": (POINTER(c_char), [snapshot, count]),
        "memprof_resolve_symbols": (c_int64, [snapshot]),
        "memprof_snapshot_symbols": (POINTER(Symbol), [snapshot, count]),
        "memprof_heap_register": (c_int, [c_char_p, POINTER(c_uint32)]),
        "memprof_report_alloc": (None, [c_void_p, c_size_t, c_uint32]),
        "memprof_report_free": (None, [c_void_p]),
        "memprof_report_realloc": (None, [c_void_p, c_void_p, c_size_t, c_uint32]),
        "memprof_report_realloc_begin": (c_uint64, [c_void_p]),
        "memprof_report_realloc_end": (None, [c_uint64, c_void_p, c_void_p, c_size_t, c_uint32]),
        "memprof_report_free_range": (None, [c_void_p, c_size_t]),
        "memprof_report_backing": (None, [c_void_p]),
        "memprof_backing_begin": (None, []),
        "memprof_backing_end": (None, []),
        "memprof_abi1_alloc": (None, [c_void_p, c_size_t, c_uint32]),
        "memprof_abi1_free": (None, [c_void_p]),
        "memprof_abi1_thread_count": (POINTER(c_uint64), []),
        "memprof_abi1_realloc": (None, [c_void_p, c_void_p, c_size_t, c_uint32, c_int]),
        "memprof_write_profile": (c_int, [c_char_p, c_uint32]),
        "memprof_write_profile_fd": (c_int, [c_int]),
        "memprof_snapshot_open": (c_int, [c_char_p, POINTER(snapshot)]),
        "memprof_snapshot_get_stats": (c_int, [snapshot, POINTER(Stats)]),
        "memprof_snapshot_program": (c_char_p, [snapshot]),
        "memprof_snapshot_write_fd": (c_int, [snapshot, c_int]),
        "memprof_snapshot_write_profile": (c_int, [snapshot, c_char_p, c_uint32, c_void_p]),  # without a heap of a runtime
    }
    assert sorted(signatures) == sorted(NAMES)
    for name, (result, arguments) in signatures.items():
        function = getattr(lib, name)
        function.restype, function.argtypes = result, arguments
    return lib
