/* SPDX-License-Identifier: Apache-2.0
 *
 * memprof: a sampling profiler of memory allocations.
 *
 * Introduction
 * ------------
 * memprof watches the allocations of the process it is loaded into and keeps a random sample of them, with
 * the call stack of each.  From the sample it estimates how many bytes and blocks every call stack holds now
 * ("live", "in use"), and how many it has allocated since the start.
 *
 * Model.  A block of s bytes is sampled with probability p = 1 - exp(-s / R), where R is the rate in bytes.
 * A sampled block stands for 1 / p blocks and s / p bytes (its "weight"); sums of weights are unbiased
 * estimates.  R and s are kept with each sample, so the rate may change at any time.  With R = 0 (or 1) every
 * allocation is recorded and the numbers are exact.
 *
 * Getting allocations.  Preloaded (LD_PRELOAD=libmemprof.so) or linked (-lmemprof, or libmemprof.a linked
 * whole) the library sees them from the first one on.  Loaded at run time (dlopen, a plugin, ctypes), or
 * linked as libmemprof_api.a, memprof_start() points the import tables of all loaded modules at it; see
 * there.
 *
 * Simple use
 * ----------
 *     memprof_init(NULL);                          // defaults: the rate starts fine
 *     memprof_start();
 *     ...                                          // the program runs
 *     memprof_write_profile("heap.pb", 0);         // pprof format; open it with `memprof report heap.pb`
 *     memprof_stop();
 *
 * Life cycle
 * ----------
 *     UNINITIALIZED --init--> INITIALIZED --start--> ACTIVE --stop--> STOPPED --start--> ACTIVE ...
 *     INITIALIZED or STOPPED --shutdown--> TERMINATED (one way; the data stay readable)
 *
 *   After stop, new allocations are not recorded, but frees of recorded blocks still are: a block that is
 *   freed after the stop does not look like a leak.  Data accumulate over start and stop.
 *
 * Arena
 * -----
 *   The tables live in one file, mode 0600: memprof-PID-NAMESPACE.arena in the folder MEMPROF_ARENA_DIR, or
 *   in /dev/shm (else $TMPDIR, else /tmp).  Other processes of the same user can read it at any time, and
 *   after the process was killed (memprof live, memprof list, memprof_snapshot_open).  It is removed when the
 *   process ends by itself.  Where no file can be made the tables are private memory: other processes cannot
 *   read them, everything else works.
 *
 * Privileged programs
 * -------------------
 *   A process with rights that its caller has not (set-uid, set-gid, file capabilities: AT_SECURE) reads no
 *   variable of the environment, and its tables are private memory, whatever memprof_options says: the file
 *   would belong to the caller.  It can write snapshots of itself where it likes (memprof_snapshot_write_fd).
 *
 * Python
 * ------
 *   Where a CPython is in the process (or is loaded later), the profiler hooks its allocators when it starts:
 *   what they serve themselves is sampled like malloc's blocks, once each, with the size that was asked for.
 *   The hooks stay when the profiler stops.  Python's functions are in the stacks, in place of the evaluation
 *   loop that executes them (memprof_snapshot_runtime_frames).  memprof_stats.python_objects and
 *   python_stacks say what is seen; memprof_options.python (or MEMPROF_PYTHON=0, =stacks) leaves some or all
 *   of it out.  The general form, for any language's runtime, is memprof_stats.runtimes and
 *   memprof_options.runtimes ("Language runtimes").
 *
 * Rules that hold for every function
 * ----------------------------------
 *   Results:  0 (MEMPROF_OK) or a negative MEMPROF_ERR_* code; memprof_strerror() turns it into text.
 *   Threads:  every function may be called from any thread at any time, unless it says otherwise.
 *   Signals:  none may be called from a signal handler, except memprof_strerror, memprof_version, and the
 *             memprof_report_* functions with their inline forms.
 *   fork:     in a fork child memprof is off: nothing is recorded there, its state is
 *             MEMPROF_STATE_UNINITIALIZED, and the calls that need an owner return MEMPROF_ERR_FORKED, until
 *             memprof_init and memprof_start begin anew: with other options if they are given, with nothing
 *             of the parent's, and without what the environment asked of the parent (MEMPROF_PROFILE,
 *             MEMPROF_DUMP_*).  With memprof_options.follow_fork (or MEMPROF_FOLLOW_FORK=1) a child
 *             goes on in the state that its parent was in, with a profile of its own that begins empty: what
 *             the child got from its parent counts as the parent's.
 *   Structs:  a struct whose first member is struct_size is versioned: the caller sets struct_size to
 *             sizeof(the struct) before the call; members that the library does not know, or the caller does
 *             not have, are left alone.  All members have fixed widths; there are no bit fields.
 *   errno:    not changed by any function, except where a function returns MEMPROF_ERR_SYSTEM: then errno
 *             says why.
 */
#ifndef MEMPROF_H_
#define MEMPROF_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Defined before this header is included: the program also runs without the library (see "Allocators of one's
 * own"); every function below is then a weak symbol, whose address is NULL where the library is not. */
#if defined(__GNUC__) && defined(MEMPROF_OPTIONAL)
#define MEMPROF_API __attribute__((visibility("default"), weak))
#elif defined(__GNUC__)
#define MEMPROF_API __attribute__((visibility("default")))
#else
#define MEMPROF_API
#endif

/* ---- Errors ------------------------------------------------------------------------------------------- */

enum {
  MEMPROF_OK = 0,
  MEMPROF_ERR_INVALID = -1,   /* an argument is wrong: NULL, out of range, a struct_size that is too small  */
  MEMPROF_ERR_STATE = -2,     /* not allowed in this state of the life cycle                                */
  MEMPROF_ERR_NO_MEMORY = -3, /* the system gave no memory (or no address space) for the profiler's tables */
  MEMPROF_ERR_SYSTEM = -4,    /* a system call failed; errno says why                                       */
  MEMPROF_ERR_EXISTS = -5,    /* the file is there already and overwriting was not asked for                */
  MEMPROF_ERR_FORKED = -6,    /* called in a fork child of the process that is profiled                     */
  MEMPROF_ERR_NO_HOOKS = -7,  /* the library does not see the allocations of this process                   */
  MEMPROF_ERR_FORMAT = -8,    /* the file is no arena, or that of another version of memprof                */
  MEMPROF_ERR_LIMIT = -9,     /* there are as many of these as there may be                                 */
  MEMPROF_ERR_OTHER_COPY = -10 /* another copy of the library is at work in this process                    */
};

/* The text of an error code, in English, without a newline.  Never NULL; static, never freed. */
MEMPROF_API const char* memprof_strerror(int error);

/* The version of the library, "MAJOR.MINOR.PATCH".  Static, never freed. */
MEMPROF_API const char* memprof_version(void);

/* ---- Language runtimes -------------------------------------------------------------------------------- */

/* The runtimes of languages that the library knows: ids, which it writes to profiles and which never change.
 * Where an array has an element for each of them, that of id n is element n - 1.  Such arrays are inside structs, so
 * that MEMPROF_MAX_RUNTIMES never changes either. */
enum {
  MEMPROF_RUNTIME_CPYTHON = 1,
  MEMPROF_RUNTIME_V8 = 2,
  MEMPROF_RUNTIME_JIT = 3, /* no language: code that a JIT lists for debuggers, by name                    */
  MEMPROF_MAX_RUNTIMES = 16
};

/* How a runtime is used (memprof_options.runtimes). */
enum {
  MEMPROF_USE_ALL = 0,     /* its functions are in stacks, and its objects are sampled                     */
  MEMPROF_USE_NOTHING = 1, /* it is not looked for                                                         */
  MEMPROF_USE_STACKS = 2   /* its functions are in stacks; its own allocators are left alone               */
};

/* How a runtime's objects are seen, where they come from allocators of its own. */
enum {
  MEMPROF_OBJECTS_NONE = 0,      /* the runtime is not there, or nothing was started                       */
  MEMPROF_OBJECTS_HOOKED = 1,    /* seen: hooks stand in front of its allocators                           */
  MEMPROF_OBJECTS_BY_MALLOC = 2, /* seen: all of them come from malloc                                     */
  MEMPROF_OBJECTS_REFUSED = 3    /* not seen: its allocators could not be replaced                         */
};

/* How a runtime's frames are seen. */
enum {
  MEMPROF_STACKS_NONE = 0,            /* no thread that runs code of it was sampled                        */
  MEMPROF_STACKS_UNCHECKED = 1,       /* not yet: no stack has shown that they are read rightly            */
  MEMPROF_STACKS_READ = 2,            /* stacks have its functions                                         */
  MEMPROF_STACKS_UNKNOWN_VERSION = 3, /* native frames only: memprof does not know this version            */
  MEMPROF_STACKS_UNKNOWN_LAYOUT = 4   /* native frames only: it is not what its version says               */
};

/* The name of a runtime, like "CPython"; "" for an id that this version of the library does not know.  Never
 * NULL; static, never freed. */
MEMPROF_API const char* memprof_runtime_name(uint32_t runtime);

/* What is known of a runtime in the process. */
typedef struct memprof_runtime_stats {
  uint32_t version; /* major << 8 | minor: 0x030b is 3.11; 0: it is not there, or its version is unknown   */
  uint32_t objects; /* MEMPROF_OBJECTS_*                                                                   */
  uint32_t stacks;  /* MEMPROF_STACKS_*                                                                    */
  uint32_t reserved;
} memprof_runtime_stats;

/* ---- Life cycle --------------------------------------------------------------------------------------- */

#define MEMPROF_DEFAULT_RATE_BYTES 524288u /* 512 KiB */

/* As a rate: begin with 8 KiB, and double it from time to time, until it is 512 KiB after some hundred megabytes.
 * So a small program is seen finely (about +-10 % of what the largest row of 10 MiB holds), and in the long run it
 * costs what 512 KiB cost; the samples before that cost at most 20 ms of CPU, or 0.5 % where that is more. */
#define MEMPROF_RATE_STARTS_FINE (UINT64_C(1) << 63)

typedef struct memprof_options {
  uint32_t struct_size;        /* sizeof(memprof_options)                                                  */
  uint32_t max_depth;          /* frames kept of a stack: 1 to 1024; 0 = default (512). Of a deeper one the
                                  leaf's end and, for 64 or more, the root's, if that is at most 1024 away  */
  uint64_t rate_bytes;         /* mean bytes between samples; 0 or 1 = every allocation; at most 2^50, or
                                  MEMPROF_RATE_STARTS_FINE                                                  */
  uint64_t max_live_samples;   /* blocks recorded at one time; 0 = default (1,048,576; with rate 0
                                  four times that)                                                         */
  uint64_t max_stacks;         /* different stacks; 0 = default (65,536; with rate 0 1,048,576)           */
  uint32_t follow_fork;        /* not 0: fork children are profiled, each by itself; see "fork"             */
  uint32_t private_memory;     /* not 0: no file (see "Arena"); `memprof live` cannot look at the process   */
  uint32_t python;             /* 0: a CPython in this process is looked at (see "Python"); 1: it is not;
                                  2: for frames in stacks, but not for its objects                         */
  uint32_t native_interpreter; /* not 0: the frames of evaluation loops stay in the stacks                 */
  uint32_t runtimes[MEMPROF_MAX_RUNTIMES]; /* MEMPROF_USE_* of each; for CPython `python`, if this is 0    */
  uint32_t budget_ppm;     /* not 0: the rate follows what sampling costs, so that it takes so many parts
                                  in a million of the process's CPU time (5000: 0.5 %); at most 500,000.
                                  It begins with rate_bytes where that is not the default, else with a
                                  coarse one (16 MiB for 0.5 %); see memprof_snapshot_rates                */
  uint32_t mappings;       /* not 0: memory that the program maps itself is recorded (mmap, mremap, sbrk),
                                  anonymous or shared, with its stack; see memprof_snapshot_mappings       */
  uint64_t min_rate_bytes; /* bounds of that rate; 0 = default (16 KiB, 64 MiB)                        */
  uint64_t max_rate_bytes;
  /* That all tables together stay within; at least 4 MiB.  0 = default: a 64th of what the process's group (a
   * container) may have, at least 4 MiB; no limit where it has none, with rate 0, or where one of the limits above
   * is given.  Full tables cost detail, never totals (memprof_stats.folded_stacks, thinned_samples). */
  uint64_t memory_limit_bytes;
} memprof_options;

/* Fills *options with the defaults.  struct_size is sizeof(memprof_options) as the caller was compiled; what
 * the caller has beyond the members that the library knows becomes 0.
 * MEMPROF_ERR_INVALID: options is NULL or struct_size is smaller than the first version of the struct. */
MEMPROF_API int memprof_options_init(memprof_options* options, uint32_t struct_size);

/* Reserves the profiler's tables; nothing is recorded yet.  NULL means the defaults (and, where the library
 * was configured by MEMPROF_* variables, those).  *options is copied.  A second call does nothing and
 * returns MEMPROF_OK.  Limits are rounded up to what the tables can do.
 * MEMPROF_ERR_INVALID, MEMPROF_ERR_NO_MEMORY, MEMPROF_ERR_STATE (after shutdown), MEMPROF_ERR_OTHER_COPY (one
 * that was initialized before: it goes on, this one stays off). */
MEMPROF_API int memprof_init(const memprof_options* options);

/* Begins (or goes on) to record.  The calling thread takes up the rate at once; another thread that was
 * running before does so after its next sampling point, which keeps the estimates unbiased.
 *
 * Where malloc is not interposed, the first call (and each later one again) points the slots of malloc, free
 * and so on in the import tables of the loaded modules at the library; they stay so after a stop.  It waits
 * for the loader (dlopen in another thread), and stops no thread.  Libraries that are loaded later are
 * noticed at the next dlsym, dlopen or dlclose of the program, and by memprof_rescan_imports.  Slots that another
 * tool wrote over are pointed at the library again once they hold the real function, at such calls, at snapshots and
 * at samples (import_taken, import_unseen_ns of memprof_stats say what was missed).  Not seen are:
 * calls through pointers that were taken before, an allocator inside the executable, modules of other link
 * namespaces.
 *
 * MEMPROF_ERR_STATE: not initialized, already active, or terminated.  MEMPROF_ERR_NO_HOOKS: nothing can be
 * seen: the executable brings its own malloc, the program is linked statically, or the system does not let
 * import tables be changed.  MEMPROF_ERR_FORKED. */
MEMPROF_API int memprof_start(void);

/* Ends the recording of new allocations; frees are still followed.  MEMPROF_ERR_STATE: not active. */
MEMPROF_API int memprof_stop(void);

/* Ends the profiler for good: it follows no allocation and no free any more.  Snapshots, statistics and
 * profiles can still be taken; they show the state at the shutdown.  An active profiler is stopped first.
 * Nothing is unmapped, because another thread may be in a hook.  A second call returns MEMPROF_OK.
 * MEMPROF_ERR_STATE: not initialized. */
MEMPROF_API int memprof_shutdown(void);

/* Where import tables are patched: patches those of libraries that were loaded since; elsewhere it does
 * nothing.  Call it after a dlopen that no dlsym follows.  MEMPROF_ERR_STATE: not active. */
MEMPROF_API int memprof_rescan_imports(void);

/* Writes a line for each module with slots that do not lead to the library, as "path: refused 1, foreign 0,
 * unbound 2\n" (memprof_stats says what that means), at most `size` bytes with the NUL.  Returns the length
 * of the whole text, 0 where all is seen or nothing is patched.  It waits for the loader.
 * MEMPROF_ERR_INVALID: text is NULL and size is not 0. */
MEMPROF_API int64_t memprof_describe_imports(char* text, uint64_t size);

/* For `memprof attach` alone, which has one of the process's threads call it: patches import tables as memprof_start does,
 * but does not wait for threads that are just binding functions; the command waits for them, then it calls
 * memprof_start.  MEMPROF_ERR_FORKED, MEMPROF_ERR_STATE, MEMPROF_ERR_NO_HOOKS: as there. */
MEMPROF_API int memprof_attach_prepare_imports(void);

/* Likewise: prepares hooks of allocators inside
 * modules, which the command then writes while it has all threads stopped.  `request` is of the command's and the
 * library's version; MEMPROF_ERR_INVALID: it is not of this one. */
MEMPROF_API int memprof_attach_prepare_hooks(void* request);

/* Changes the rate, in any state.  See memprof_start for when threads take it up.  In a process with Python
 * it waits for the loader.  MEMPROF_RATE_STARTS_FINE begins fine anew.  MEMPROF_ERR_INVALID: rate_bytes is over 2^50. */
MEMPROF_API int memprof_set_rate(uint64_t rate_bytes);

/* From now on runs of garbage collectors of language runtimes are counted: those of CPython (gc.callbacks of the
 * calling thread's interpreter, or of the main one; the call waits for the interpreter's lock), and of V8 (in each
 * isolate from the next call of its JavaScript by native code on, while the profiler is active).  A runtime that comes
 * later is counted after another call; none is counted twice.  Not from a signal handler.
 * MEMPROF_ERR_STATE: there is no such runtime in the process, or it is not initialized. */
MEMPROF_API int memprof_enable_gc_tracking(void);

/* The epoch of now: how many collections have begun since they are counted, in all runtimes together; 0 before.  A block
 * that is live and was allocated in epoch N has outlived all that began since.  May be called from anywhere. */
MEMPROF_API uint64_t memprof_get_gc_epoch(void);

/* ---- Statistics --------------------------------------------------------------------------------------- */

enum {
  MEMPROF_STATE_UNINITIALIZED = 0,
  MEMPROF_STATE_INITIALIZED = 1,
  MEMPROF_STATE_ACTIVE = 2,
  MEMPROF_STATE_STOPPED = 3,
  MEMPROF_STATE_TERMINATED = 4
};

/* Why the walk of a stack ended. */
enum {
  MEMPROF_WALK_ROOT = 0,        /* the outermost frame was reached: the stack is complete                  */
  MEMPROF_WALK_DEPTH_LIMIT = 1, /* cut at max_depth, the root too far away; the leaf end was kept          */
  MEMPROF_WALK_BAD_FRAME = 2,   /* the next frame was implausible (code without frame pointers, mostly)    */
  MEMPROF_WALK_LEFT_STACK = 3,  /* the next frame would have been outside the thread's stack               */
  MEMPROF_WALK_NO_RULE = 4,     /* the code at the next frame is unknown                                   */
  MEMPROF_WALK_MIDDLE_LEFT_OUT = 5, /* deeper than max_depth: both ends were kept, between them one
                                       MEMPROF_FRAMES_LEFT_OUT                                           */
  MEMPROF_WALK_REASONS = 6
};

/* The frame that stands for those that were left out between the leaf's end and the root's. */
#define MEMPROF_FRAMES_LEFT_OUT 1u
/* Likewise for the frames of older stacks, whose detail went when the table of stacks was full. */
#define MEMPROF_OLDER_STACKS 2u
/* Likewise for a frame in an unloaded module, of which the table has had to keep newer ones. */
#define MEMPROF_OLDER_MODULES 3u

/* Python's objects: older names of MEMPROF_OBJECTS_*.  Those of up to 512 bytes (of a free-threaded build:
 * all) come from allocators of the interpreter, which hooks stand in front of where Python is in the process
 * (3.7 and later). */
enum {
  MEMPROF_PYTHON_NONE = 0,      /* there is no Python, or nothing was started                              */
  MEMPROF_PYTHON_HOOKED = 1,    /* seen                                                                    */
  MEMPROF_PYTHON_BY_MALLOC = 2, /* seen: all of them come from malloc (PYTHONMALLOC=malloc)                */
  MEMPROF_PYTHON_REFUSED = 3    /* not seen: the allocators of this Python could not be replaced           */
};

/* Python's frames in stacks: older names of MEMPROF_STACKS_*.  They are read from the interpreter's
 * structures, of 3.11 to 3.15. */
enum {
  MEMPROF_PYTHON_STACKS_NONE = 0,            /* no thread that runs Python was sampled                     */
  MEMPROF_PYTHON_STACKS_UNCHECKED = 1,       /* not yet: no stack has shown that they are read rightly      */
  MEMPROF_PYTHON_STACKS_READ = 2,            /* stacks have Python frames                                   */
  MEMPROF_PYTHON_STACKS_UNKNOWN_VERSION = 3, /* native frames only: memprof does not know this Python       */
  MEMPROF_PYTHON_STACKS_UNKNOWN_LAYOUT = 4 /* native frames only: this Python is not what its version says */
};

/* How allocations are seen. */
enum {
  MEMPROF_HOOKS_NONE = 0,       /* not at all                                                              */
  MEMPROF_HOOKS_INTERPOSED = 1, /* preloaded or linked                                                     */
  MEMPROF_HOOKS_IMPORTS = 2     /* by patched import tables                                                */
};

/* Counters since memprof_init.  They are read one by one while the program runs on, so two of them can be of
 * slightly different moments. */
typedef struct memprof_stats {
  uint32_t struct_size;          /* sizeof(memprof_stats), set by the caller                               */
  uint32_t state;                /* MEMPROF_STATE_*                                                        */
  uint64_t rate_bytes;           /* the rate in force for new draws                                        */
  uint64_t samples;              /* allocations that were sampled while active                             */
  uint64_t live_samples;         /* of these, recorded and not freed                                       */
  uint64_t freed_samples;        /* of these, recorded and freed                                           */
  uint64_t dropped_samples;      /* sampled but in no total, or not followed as live; sum of dropped_*     */
  uint64_t dropped_weight_bytes; /* what those stand for                                                   */
  uint64_t dropped_live_table;   /* the table of live blocks had no room: counted as allocated, not live   */
  uint64_t dropped_stack_table;  /* no memory for the stack, or no room to walk it: counted nowhere else    */
  uint64_t replaced_samples;     /* live records whose free was not seen: their address was given out anew */
  uint64_t stacks;               /* different stacks                                                       */
  uint64_t modules;              /* executables and libraries in those stacks                              */
  uint64_t frames;               /* frames of all walks                                                    */
  uint64_t walks[MEMPROF_WALK_REASONS]; /* samples by MEMPROF_WALK_*                                       */
  uint64_t min_depth;        /* least frames of a walk; 0 if there was none                            */
  uint64_t cold_paths;       /* times a thread's count ran out, recording or not                       */
  uint64_t filter_saturated; /* slots of the free filter that can no longer forget                     */
  uint64_t arena_bytes;      /* address space of the tables                                            */
  uint64_t arena_used_bytes; /* of it, handed out to tables so far                                     */
  uint64_t muted_bytes;      /* allocated while the thread was in the profiler's slow path, by the
                                allocator itself or by a signal handler: in no sample                  */
  uint64_t hooks;            /* MEMPROF_HOOKS_*                                                          */
  uint64_t import_modules;   /* where import tables are patched: modules with slots of allocation
                                functions                                                                */
  uint64_t import_patched;   /* such slots that lead to the library                                      */
  uint64_t import_refused;   /* that could not be written (mprotect fails, no /proc)                     */
  uint64_t import_foreign;   /* that lead to another allocator than the process's: not seen              */
  uint64_t import_unbound;   /* not bound yet, and not known to what they would be; looked at again      */
  uint32_t python_version;   /* of the CPython in the process: 0x030b is 3.11; 0: none, or before 3.11   */
  uint32_t python_objects;   /* MEMPROF_PYTHON_*                                                         */
  /* What the live samples stand for, and the most that this was since memprof_init or memprof_reset_peak. */
  uint64_t live_weight_bytes;
  uint64_t peak_weight_bytes;
  uint32_t python_stacks; /* MEMPROF_PYTHON_STACKS_*                                                  */
  uint32_t reserved;
  uint64_t folded_stacks;   /* older stacks that were shortened because the table was full: their sums are
                               in others, with MEMPROF_OLDER_STACKS among their frames                     */
  uint64_t thinned_samples; /* neither live nor freed: the table of live blocks was full, and others, of a
                               higher rate now, stand for them                                             */
  memprof_runtime_stats runtimes[MEMPROF_MAX_RUNTIMES]; /* python_* are those of CPython                  */
  uint64_t unclassed_frees; /* freed samples whose lifetime is not known, because the room for lifetimes was
                               full: they are in memprof_stack.freed only                                  */
  uint64_t budget_ppm;  /* memprof_options.budget_ppm; 0: none, and the next two are 0                     */
  uint64_t cpu_ns;      /* CPU time of the process since memprof_init, as last looked at                   */
  uint64_t sampling_ns; /* of it, what samples and their frees took: an estimate from one in eight         */
  uint64_t mappings; /* that the program made itself since memprof_init; 0 without memprof_options.mappings */
  uint64_t dropped_mappings; /* those, or parts of them, that found no room in the table                   */
  uint64_t folded_modules;   /* unloaded modules that frames name no more (MEMPROF_OLDER_MODULES), and modules
                                that found no room: the table was full                                     */
  uint64_t folded_functions; /* functions of runtimes of which only the file is known, or nothing: likewise */
  uint64_t folded_heaps;     /* heaps that share the name "[other heaps]": there are MEMPROF_MAX_HEAPS     */
  uint64_t import_taken;     /* slots that led to the library and that another tool wrote to, each time    */
  uint64_t import_unseen_ns; /* for so long, at most, allocations went past the library because of it      */
  /* Libraries that were opened such that they call an allocator which is not hooked: by dlmopen (a C library of its own), or
   * with RTLD_DEEPBIND where malloc is not the C library's. */
  uint64_t bypassing_libraries;
} memprof_stats;

/* Fills *stats.  In UNINITIALIZED all counters are 0.  MEMPROF_ERR_INVALID: NULL or struct_size < 8. */
MEMPROF_API int memprof_get_stats(memprof_stats* stats);

/* From now on memprof_stats.peak_weight_bytes and memprof_snapshot_peaks are the most that is live after this
 * call: the peak of a part of the program, or of a test.  One part of a program at a time can use it.
 * MEMPROF_ERR_STATE: not initialized.  MEMPROF_ERR_FORKED. */
MEMPROF_API int memprof_reset_peak(void);

/* From now on only what the thread with this id (the system's, as gettid() has it) allocates is recorded; 0: what
 * every thread allocates, as at first.  Frees of every thread are followed.  Other threads' allocations are in no
 * number.  A child by fork that is profiled records what all its threads allocate.
 * MEMPROF_ERR_STATE: not initialized.  MEMPROF_ERR_FORKED. */
MEMPROF_API int memprof_record_thread(uint32_t thread_id);

/* ---- Allocators of one's own --------------------------------------------------------------------------
 *
 * An allocator that takes large pieces from the system, or from malloc, and hands out parts of them says so
 * itself:
 *
 *     memprof_heap_id render;
 *     memprof_heap_register("pool:render", &render);     // once
 *     ...
 *     void* block = pool_take(size);
 *     memprof_report_alloc(block, size, render);         // before anybody else can get the block
 *     ...
 *     memprof_report_free(block);                        // before the pool can hand it out again
 *     pool_give_back(block);
 *
 * Reported blocks are sampled like those of malloc, by the same clock of the thread (at rate 0 each is
 * recorded); they have stacks, and they count in the same statistics, snapshots and profiles.  In a profile
 * each sample of a named heap has its name as the label "heap".
 *
 * Memory that is counted twice.  Pieces from mmap need nothing more: memprof does not see mmap.  A piece from
 * malloc is recorded itself, and would be counted beside the blocks made of it.  So take it between
 * memprof_backing_begin and memprof_backing_end; or, where that call is not at hand, tell
 * memprof_report_backing of it afterwards.
 *
 * Rules of the memprof_report_* functions.  They may be called at any time: before memprof_init, without it,
 * after memprof_shutdown, in a fork child; nothing is then recorded.  They may be called from signal
 * handlers.  They do not read what a block points to, which need not be memory of this process.  A block
 * that is freed without having been reported is ignored; one that is reported again was freed (and is counted
 * in memprof_stats.replaced_samples).  None returns an error.  errno is kept.  None takes a lock.
 *
 * A program that is to run without the library as well defines MEMPROF_OPTIONAL before it includes this
 * header, and compiles with -fPIC or -fPIE: it links without the library, and reports where the library is
 * preloaded (`memprof run`).  The inline forms then look whether it is there; before a call of another
 * function, compare its address with NULL.  The inline forms are calls in that case.
 */

/* Names a heap; 0 is the one without a name, which is always there. */
typedef uint32_t memprof_heap_id;

#define MEMPROF_MAX_HEAPS 1023
#define MEMPROF_MAX_HEAP_NAME_BYTES 127

/* Finds or makes the heap of this name: the same name gives the same id, for the life of the process.  *name
 * is copied; it has 1 to MEMPROF_MAX_HEAP_NAME_BYTES bytes, none of them a control character (UTF-8 is
 * expected, and not checked).  Not for signal handlers.  After an error *heap is 0, which may be used.
 * Where there are MEMPROF_MAX_HEAPS - 1 heaps already, or 64 KiB of names, all further ones are one heap,
 * "[other heaps]" (memprof_stats.folded_heaps counts them).
 * MEMPROF_ERR_INVALID: an argument is NULL, or the name is not as said. */
MEMPROF_API int memprof_heap_register(const char* name, memprof_heap_id* heap);

/* `block` was allocated: `size_bytes` is what was asked for (0 is an allocation of a block of no bytes).
 * NULL: the allocation failed; nothing is recorded.  A heap that was not registered is taken for 0.  The
 * frame that calls this is the leaf of the stack.  Any thread may report the block's end. */
MEMPROF_API void memprof_report_alloc(const void* block, size_t size_bytes, memprof_heap_id heap);

/* `block` is about to be freed.  NULL is allowed. */
MEMPROF_API void memprof_report_free(const void* block);

/* A reallocation is done: `block`, which may be the same, is there instead of `old_block`.  block == NULL and
 * size_bytes != 0: it failed, and old_block is still there; both 0: old_block was freed.  old_block == NULL:
 * like memprof_report_alloc.  No other thread may get the memory at old_block before this call; where the
 * allocator cannot promise that, take the two calls below. */
MEMPROF_API void memprof_report_realloc(const void* old_block, const void* block, size_t size_bytes,
                                        memprof_heap_id heap);

/* The same in two steps, around the call that reallocates: what another thread reports meanwhile at old_block
 * is not touched.  `token` is what the first call returned; it holds nothing, and may be dropped. */
MEMPROF_API uint64_t memprof_report_realloc_begin(const void* old_block);
MEMPROF_API void memprof_report_realloc_end(uint64_t token, const void* old_block, const void* block,
                                            size_t size_bytes, memprof_heap_id heap);

/* All reported blocks that begin in [start, start + size_bytes) are about to be freed: an arena is reset, a
 * pool destroyed.  Blocks of malloc are not meant.  It looks at one byte for each KiB, and at more only where
 * something was sampled. */
MEMPROF_API void memprof_report_free_range(const void* start, size_t size_bytes);

/* `chunk`, which malloc (or one of its family) returned, is from now on what reported blocks are made of: it
 * is not live any more.  It stays in the totals of what was allocated, and counts as freed now.  NULL, and
 * what is not recorded, is ignored.  It is later given to free() as usual. */
MEMPROF_API void memprof_report_backing(const void* chunk);

/* Between these two the allocations of the calling thread are not recorded, neither malloc's nor reported
 * ones, and its sampling goes on afterwards as if they had not been: for the calls by which an allocator gets
 * its chunks.  Frees are followed as ever.  They nest; an end too many does nothing.  Every begin needs its
 * end on the same thread, or the thread stays unseen.  Not for signal handlers. */
MEMPROF_API void memprof_backing_begin(void);
MEMPROF_API void memprof_backing_end(void);

/* The inline forms: what is done for a block that is not sampled, without a call.
 *
 * What they rest on is a part of the binary interface, and has a version in its name.  A later library may
 * answer "maybe" to every question, but keeps the names.
 *   memprof_abi1_count   bytes left before the thread's next sampling point: an allocation of s bytes takes s
 *                        (at least 1) from it, and calls memprof_abi1_alloc when there was less
 *   memprof_abi1_filter  one byte for each KiB of address space, modulo 4 GiB; 0: no block there is recorded
 * Both are valid as soon as the library is loaded.  Only the inline forms may touch them.
 *
 * Thread-local data of another module can be named in ELF files only.  In those of other systems the inline forms ask
 * memprof_abi1_thread_count for the address of the thread's count, once a thread and source file; where
 * MEMPROF_ABI1_BY_ADDRESS is defined before this header is included, in ELF files as well. */
#define MEMPROF_ABI1_GRANULE_BITS 10
#if !defined(__ELF__) && !defined(MEMPROF_ABI1_BY_ADDRESS)
#define MEMPROF_ABI1_BY_ADDRESS
#endif
MEMPROF_API void memprof_abi1_alloc(const void* block, size_t size_bytes, memprof_heap_id heap);
MEMPROF_API void memprof_abi1_free(const void* block);
MEMPROF_API void memprof_abi1_realloc(const void* old_block, const void* block, size_t size_bytes,
                                      memprof_heap_id heap, int ran_out);
/* Where the calling thread's count is: never NULL, and the same as long as the thread runs. */
MEMPROF_API uint64_t* memprof_abi1_thread_count(void);

#if defined(MEMPROF_OPTIONAL)

static inline void memprof_report_alloc_inline(const void* block, size_t size_bytes, memprof_heap_id heap) {
  if (memprof_report_alloc) {
    memprof_report_alloc(block, size_bytes, heap);
  }
}

static inline void memprof_report_free_inline(const void* block) {
  if (memprof_report_free) {
    memprof_report_free(block);
  }
}

static inline void memprof_report_realloc_inline(const void* old_block, const void* block, size_t size_bytes,
                                                 memprof_heap_id heap) {
  if (memprof_report_realloc) {
    memprof_report_realloc(old_block, block, size_bytes, heap);
  }
}

#elif defined(__GNUC__) && \
    (defined(__ELF__) || defined(__clang__)) /* gcc elsewhere: thread-local data by calls */

#if defined(__cplusplus) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wold-style-cast"
#elif defined(__cplusplus)
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wold-style-cast"
#endif

extern MEMPROF_API const void* const memprof_abi1_filter;
#if defined(MEMPROF_ABI1_BY_ADDRESS)
static inline uint64_t* memprof_abi1_find_count(void) {
  static __thread uint64_t* count;
  if (__builtin_expect(!count, 0)) {
    count = memprof_abi1_thread_count();
  }
  return count;
}
#define MEMPROF_ABI1_COUNT (*memprof_abi1_find_count())
#else
extern MEMPROF_API __thread uint64_t memprof_abi1_count __attribute__((tls_model("initial-exec")));
#define MEMPROF_ABI1_COUNT memprof_abi1_count
#endif

/* Nonzero: the count ran out. */
static inline int memprof_abi1_tick(size_t size_bytes) {
#if defined(__x86_64__) && defined(__GCC_ASM_FLAG_OUTPUTS__)
  /* compare sets the carry for size 0 only, so that it counts as 1; one instruction changes the count, so
   * that a signal handler which reports comes before or after it. */
  int ran_out;
  __asm__("cmpq $1, %[size]\n\tsbbq %[size], %[count]"
          : "=@ccc"(ran_out), [count] "+m"(MEMPROF_ABI1_COUNT)
          : [size] "r"((uint64_t)size_bytes));
  return ran_out;
#else
  const uint64_t line_bytes = (uint64_t)size_bytes + (size_bytes == 0);
  const uint64_t count = MEMPROF_ABI1_COUNT;
  MEMPROF_ABI1_COUNT = count - line_bytes;
  return count < line_bytes;
#endif
}
#undef MEMPROF_ABI1_COUNT

/* Nonzero: the block may be recorded. */
static inline int memprof_abi1_maybe(const void* block) {
  return ((const volatile unsigned char*)
              memprof_abi1_filter)[(uint32_t)(uintptr_t)block >> MEMPROF_ABI1_GRANULE_BITS];
}

static inline void memprof_report_alloc_inline(const void* block, size_t size_bytes, memprof_heap_id heap) {
  if (__builtin_expect(memprof_abi1_tick(size_bytes), 0)) {
    memprof_abi1_alloc(block, size_bytes, heap);
  }
}

static inline void memprof_report_free_inline(const void* block) {
  if (__builtin_expect(memprof_abi1_maybe(block), 0)) {
    memprof_abi1_free(block);
  }
}

static inline void memprof_report_realloc_inline(const void* old_block, const void* block, size_t size_bytes,
                                                 memprof_heap_id heap) {
  const int ran_out = memprof_abi1_tick(size_bytes);
  if (__builtin_expect(ran_out | memprof_abi1_maybe(old_block), 0)) {
    memprof_abi1_realloc(old_block, block, size_bytes, heap, ran_out);
  }
}

#if defined(__cplusplus) && !defined(__clang__)
#pragma GCC diagnostic pop
#elif defined(__cplusplus)
#pragma clang diagnostic pop
#endif

#else

#define memprof_report_alloc_inline memprof_report_alloc
#define memprof_report_free_inline memprof_report_free
#define memprof_report_realloc_inline memprof_report_realloc

#endif

/* ---- Snapshots ---------------------------------------------------------------------------------------- */

/* An immutable copy of all that is recorded.  It stays valid after stop and shutdown, until
 * memprof_free_snapshot; snapshots may be freed in any order and from any thread.  Arrays that the accessors
 * return belong to the snapshot.  The accessors of one snapshot may be called by many threads at once. */
typedef struct memprof_snapshot memprof_snapshot;

/* One live sampled block. */
typedef struct memprof_record {
  uint64_t address;    /* what the allocation function returned                                          */
  uint64_t size_bytes; /* what was asked for                                                             */
  uint64_t rate_bytes; /* R of this sample; 0 or 1: it stands for itself                                 */
  uint64_t time_ns;    /* when it was allocated: nanoseconds, monotonic clock                            */
  uint32_t stack_id;   /* index into the array of stacks                                                 */
  uint32_t thread_id;  /* the system's id of the allocating thread                                       */
  double weight_bytes; /* bytes that it stands for: s / (1 - exp(-s / R))                                */
  double weight_count; /* blocks that it stands for: 1 / (1 - exp(-s / R))                               */
} memprof_record;

/* Running totals over the samples of one stack. */
typedef struct memprof_totals {
  uint64_t samples;        /* number of samples                                                             */
  uint64_t size_bytes;     /* sum of their sizes                                                            */
  double weight_bytes;     /* estimate of the bytes: sum of the weights                                     */
  double weight_count;     /* estimate of the blocks                                                        */
  double variance_bytes;   /* variance of weight_bytes: sum of (1-p) w^2                                    */
  double variance_count;   /* variance of weight_count                                                      */
  double max_missed_bytes; /* largest (1-p) w of a sample, for the upper end of an interval                */
  double max_missed_count;
} memprof_totals;

/* A rate that was in force for a part of the time. */
typedef struct memprof_rate_use {
  uint64_t rate_bytes;
  uint64_t weight_bytes; /* estimate of what was allocated by it                                          */
  uint64_t time_ns;      /* how long it was in force                                                      */
} memprof_rate_use;

/* One call stack, with what was allocated and freed through it since memprof_init. */
typedef struct memprof_stack {
  uint64_t first_frame; /* index of the leaf frame in the array of frames                                 */
  uint32_t frame_count; /* leaf first                                                                     */
  uint32_t walk;        /* MEMPROF_WALK_*: why the stack ends where it ends                               */
  memprof_totals allocated;
  memprof_totals freed; /* variance_* and max_* are not kept here and 0                                   */
  /* These as close as a class of lifetimes is wide (memprof_snapshot_lifetimes); 0: none was freed before
   * the process began to end.                                                                             */
  double lifetime_ns;       /* sum over freed samples of lifetime times weight_count: divide by
                           freed.weight_count for the mean lifetime of a block.  Samples without a known
                           lifetime count as the mean of the others                                       */
  uint64_t min_lifetime_ns; /* no freed sample lived less                                                  */
  uint64_t max_lifetime_ns; /* nor more                                                                    */
} memprof_stack;

/* What was freed of one stack after it had lived for a time of one class (memprof_lifetime_bounds). */
typedef struct memprof_lifetime {
  uint32_t stack_id;
  uint32_t lifetime_class;
  uint64_t samples; /* these as in memprof_totals                                                          */
  uint64_t size_bytes;
  double weight_bytes;
  double weight_count;
} memprof_lifetime;

/* Of memprof_module.flags: the process has unloaded it (dlclose).  Another module may overlap it. */
#define MEMPROF_MODULE_UNLOADED 1u

/* One executable or library (its code segment) with a frame in a stack. */
typedef struct memprof_module {
  uint64_t start; /* addresses start <= a < limit belong to it                                     */
  uint64_t limit;
  uint64_t file_offset;   /* where in the file `start` is                                                  */
  uint64_t bias;          /* what the loader added to the addresses in the file                            */
  uint64_t path_offset;   /* of the NUL-terminated path in the array of strings                            */
  uint32_t build_id_size; /* bytes of the build id; 0: it has none                                         */
  uint32_t flags;         /* MEMPROF_MODULE_*                                                              */
  uint8_t build_id[32];
} memprof_module;

/* A heap that an allocator has registered ("Allocators of one's own"). */
typedef struct memprof_heap {
  uint64_t name_offset; /* of the name in the array of strings; 0, the empty string: the id is not used */
} memprof_heap;

/* Set in an element of the array of frames that is not an address but a function of a language runtime; the
 * other bits are an index into the array of runtime frames. */
#define MEMPROF_RUNTIME_FRAME 0x8000000000000000u

/* A place in a function that a language's runtime executes. */
typedef struct memprof_runtime_frame {
  uint64_t name_offset; /* of the function's (qualified) name in the array of strings                     */
  uint64_t file_offset; /* of its file, as the runtime names it                                           */
  uint32_t line;        /* in the file; 0: unknown                                                         */
  uint32_t function_line; /* where the function begins; 0: unknown                                         */
  uint32_t runtime;       /* MEMPROF_RUNTIME_*                                                             */
  uint32_t reserved;
} memprof_runtime_frame;

/* Memory that the program mapped itself: a mapping that is anonymous or shared (mmap), or what it moved the break by
 * (sbrk).  Not those of an allocator whose blocks are seen.  Neighbours of one stack may be one, where the table was
 * full. */
typedef struct memprof_mapping {
  uint64_t start; /* addresses start <= a < limit: what of it is still mapped                          */
  uint64_t limit;
  uint64_t resident_bytes; /* of it in memory, when memprof_memory.time_ns was measured, or of another
                                   process when memprof_snapshot_read_resident was called               */
  uint64_t time_ns;        /* when it was mapped: nanoseconds, monotonic clock                           */
  uint32_t stack_id;       /* index into the array of stacks                                             */
  uint32_t thread_id;      /* the system's id of the thread that mapped it                               */
} memprof_mapping;

/* What of the process was resident, and who held its anonymous memory: these add up to all of it. */
typedef struct memprof_memory {
  uint32_t struct_size; /* sizeof(memprof_memory), set by the caller                                    */
  uint32_t reserved;
  uint64_t time_ns;        /* when it was measured: monotonic clock; 0: it was not, and all else is 0       */
  uint64_t resident_bytes; /* of the process, with files                                                 */
  uint64_t mapped_bytes;   /* anonymous: mappings of the program's own (memprof_mapping)                 */
  uint64_t allocator_bytes; /* of an allocator whose blocks are seen, which mapped them                  */
  uint64_t malloc_bytes;    /* the C library's heap: the break, arenas, large blocks                      */
  uint64_t stack_bytes;     /* stacks of threads                                                          */
  uint64_t module_bytes;    /* data of executables and libraries that was written to                      */
  uint64_t own_bytes;       /* memprof's own                                                              */
  uint64_t unseen_bytes; /* of unknown origin: mapped by direct system calls, or before memprof_init      */
} memprof_memory;

/* Facts about the snapshot as a whole. */
typedef struct memprof_snapshot_info {
  uint32_t struct_size; /* sizeof(memprof_snapshot_info), set by the caller                              */
  uint32_t pid;
  uint64_t rate_bytes;   /* the rate when the snapshot was taken                                          */
  uint64_t time_unix_ns; /* when it was taken: nanoseconds since 1970                                     */
  uint64_t time_ns;      /* the same moment on the clock of memprof_record.time_ns                        */
  uint64_t start_ns;     /* memprof_init on that clock                                                    */
  double live_weight_bytes; /* sums over all records                                                       */
  double live_weight_count;
  uint64_t end_ns; /* on that clock, when the process came to its end by itself; 0: it did not (yet)   */
  uint64_t pid_namespace; /* of pid: equal for processes that mean the same by an id; 0: unknown */
  uint64_t end_begun_ns;  /* of a process that has ended by itself: when its end began (exit was called, or
                             its Python began to finalize). The records are those of that moment.  0: of the
                             moment of the snapshot                                                        */
  uint64_t peak_ns;       /* when the heap reached its highest, see memprof_snapshot_peaks; 0: unknown     */
  double peak_weight_bytes; /* sums over memprof_snapshot_peaks                                            */
  double peak_weight_count;
  uint64_t peak_resident_bytes; /* resident memory of the process at the peak; 0: unknown                  */
  uint64_t max_resident_bytes;  /* the most that it was, as last asked (at peaks, at the end); 0: unknown   */
  uint64_t peak_files_bytes;    /* of peak_resident_bytes: files and shared memory                          */
  uint64_t peak_free_bytes;     /* of it free and kept by jemalloc or tcmalloc, as they counted last        */
} memprof_snapshot_info;

/* What a process has in memory (RSS), in parts; see docs/rss.md.
 *   rss = heap + files + shared + stacks + code + runtime + memprof + anonymous + a difference, where the process
 *         went on while it was looked at
 *   heap = live - absent + slack + free + what is not explained (negative where the estimate of live is too high)
 * All in bytes, all of one moment. */
typedef struct memprof_resident {
  uint32_t struct_size; /* sizeof(memprof_resident), set by the caller                                    */
  uint32_t state;       /* MEMPROF_RESIDENT_* bits                                                         */
  uint64_t rss_bytes;   /* 0: nothing is known                                                             */
  uint64_t swap_bytes;
  uint64_t heap_bytes;      /* of allocators: the break, arenas, mappings that have sampled blocks         */
  uint64_t files_bytes;     /* of files, with static data                                                  */
  uint64_t shared_bytes;    /* shared memory                                                               */
  uint64_t stacks_bytes;    /* of threads                                                                  */
  uint64_t code_bytes;      /* code that the program made at run time                                      */
  uint64_t runtime_bytes;   /* the heap of a runtime that does not use malloc for it: V8, JVM, Go, .NET    */
  uint64_t memprof_bytes;   /* memprof's own                                                               */
  uint64_t anonymous_bytes; /* anonymous mappings of unknown origin                                        */
  uint64_t live_bytes;      /* heap in use then, estimated from samples                                    */
  uint64_t absent_bytes;    /* of it not in memory: never touched, or swapped out                          */
  uint64_t slack_bytes;     /* rounding and headers of live blocks                                         */
  uint64_t free_bytes;      /* free, kept by the allocator, in memory                                      */
  double unexplained_bytes; /* of rss: of the heap, anonymous mappings, and the difference                 */
  double fragmentation;     /* the part of heap_bytes that is not blocks of the program, 0 to 1            */
  /* Beside the sum, not a part of it. */
  uint64_t counted_bytes;  /* blocks in use as jemalloc and tcmalloc count them, exact; 0: not known       */
  uint64_t tables_bytes;   /* what these have for tables of their own; not all of it need be in memory     */
  uint64_t counted_age_ns; /* how long before that they were asked                                         */
} memprof_resident;

#define MEMPROF_RESIDENT_FREE_KNOWN 1 /* free_bytes is known: of glibc's malloc, jemalloc or tcmalloc      */
#define MEMPROF_RESIDENT_FREE_CUT 2   /* ... and there may be more                                         */
#define MEMPROF_RESIDENT_CUT 4        /* the time was over before all mappings were looked at              */
#define MEMPROF_RESIDENT_JEMALLOC 8   /* free_bytes has what a jemalloc of the process counts itself       */
#define MEMPROF_RESIDENT_TCMALLOC 16  /* ... a tcmalloc                                                    */
#define MEMPROF_RESIDENT_COUNTED 32   /* counted_bytes are all blocks of the allocator behind malloc       */
#define MEMPROF_RESIDENT_NO_GLIBC 64  /* free_bytes is not known: there is no glibc that is a library      */
#define MEMPROF_RESIDENT_OTHER_HEAP 128 /* ... there is one, whose malloc has no heap                      */
#define MEMPROF_RESIDENT_HEAP_CUT 256   /* CUT so early that only rss, swap, files, shared and live hold    */

/* Takes a snapshot, in any state but UNINITIALIZED, while the program runs on.  The pages come from the
 * system, not from malloc.  On success *snapshot is to be given to memprof_free_snapshot.
 * MEMPROF_ERR_INVALID, MEMPROF_ERR_STATE, MEMPROF_ERR_NO_MEMORY, MEMPROF_ERR_FORKED. */
MEMPROF_API int memprof_get_snapshot(memprof_snapshot** snapshot);

/* Takes a snapshot of the arena in the file `path`: of another process, which goes on and notices nothing, or
 * of one that is gone.  The file need not be trusted: it is copied, and every length and index is checked;
 * it may change, shrink or be garbage meanwhile.  Only regular files are opened, no symbolic links.
 * MEMPROF_ERR_INVALID, MEMPROF_ERR_FORMAT, MEMPROF_ERR_NO_MEMORY, MEMPROF_ERR_SYSTEM (errno). */
MEMPROF_API int memprof_snapshot_open(const char* path, memprof_snapshot** snapshot);

/* Frees a snapshot.  NULL is allowed. */
MEMPROF_API void memprof_free_snapshot(memprof_snapshot* snapshot);

/* Fills *info.  MEMPROF_ERR_INVALID: an argument is NULL or struct_size < 8. */
MEMPROF_API int memprof_snapshot_get_info(const memprof_snapshot* snapshot, memprof_snapshot_info* info);

/* Asks the system what the process of the snapshot has in memory now, and keeps it with the snapshot: for
 * memprof_snapshot_get_resident, memprof_snapshot_resident_shares and memprof_snapshot_write_fd; of another process
 * also for memprof_mapping.resident_bytes.  Call it soon after
 * the snapshot was taken: blocks that were freed since count as live.  `pid`: of the process as the caller knows it,
 * 0: the calling process.  It takes about 1 ms a GiB of the calling process, and some 40 ms a GiB of another one, where
 * calls that map memory may have to wait meanwhile; in the calling process at most 2 % of the processor time that it
 * used since the last call, 5 ms at least and 0.3 s at most: what does not fit is left out.  The pages come from the
 * system, not from malloc.  One thread at a time for a snapshot.
 * MEMPROF_ERR_INVALID, MEMPROF_ERR_NO_MEMORY, MEMPROF_ERR_SYSTEM (errno; EPERM also in a sandbox). */
MEMPROF_API int memprof_snapshot_read_resident(memprof_snapshot* snapshot, uint32_t pid);

/* What was read; of a process that has ended by itself, what it had in memory when its end began.  rss_bytes 0: nothing
 * is known.  MEMPROF_ERR_INVALID: an argument is NULL or struct_size < 8. */
MEMPROF_API int memprof_snapshot_get_resident(const memprof_snapshot* snapshot, memprof_resident* resident);

/* For each record how much of the block is in memory, 0 to 1; negative: not known.  No element before
 * memprof_snapshot_read_resident, but of a process that has ended by itself: then as its end began.  Belongs to the snapshot, until the next read. */
MEMPROF_API const float* memprof_snapshot_resident_shares(const memprof_snapshot* snapshot, uint64_t* count);

/* The counters at the moment of the snapshot, like memprof_get_stats. */
MEMPROF_API int memprof_snapshot_get_stats(const memprof_snapshot* snapshot, memprof_stats* stats);

/* Fills *memory, as far as memory->struct_size has room.  A snapshot of this process measures; one of another
 * process has what that one measured last: when its end began, or at a snapshot or dump of its own.
 * MEMPROF_ERR_INVALID: an argument is NULL, or struct_size is smaller than the first version of the struct. */
MEMPROF_API int memprof_snapshot_get_memory(const memprof_snapshot* snapshot, memprof_memory* memory);

/* The path of the executable; belongs to the snapshot.  "": unknown, or snapshot is NULL. */
MEMPROF_API const char* memprof_snapshot_program(const memprof_snapshot* snapshot);

/* The arrays of a snapshot.  *count (which may be NULL) becomes the number of elements.  The pointer is never
 * NULL for a valid snapshot, even when *count is 0; only frames and frame_modules are, where memory is short.
 *   records  ordered by stack_id, then size_bytes, then rate_bytes
 *   stacks   index = stack_id
 *   peaks    index = stack_id: what was live when the heap was at its highest since memprof_init or
 *            memprof_reset_peak; no element where that is not known (the arena of an older version).  The
 *            moment is chosen by one half of the samples and its amounts are told by the other, with twice the
 *            rate, so that the estimates are unbiased (docs/decisions/0047-the-peak.md)
 *   lifetimes  how long the blocks of each stack lived: what was freed, ordered by stack_id, then
 *            lifetime_class; those without a sample are left out.  What of memprof_stack.freed is in none of
 *            them was freed after an unknown time: the room for lifetimes was full, or samples were taken out
 *            of a full table.  No element: the arena of a version before 8
 *   rates    that were in force since memprof_init, ascending: more than one where memprof_set_rate or a budget
 *            changed it, or the table of live samples was full
 *   frames   return addresses, of all stacks, leaf first; or MEMPROF_RUNTIME_FRAME | index
 *   runtime_frames  what those stand for; each different place once
 *   frame_modules  for each frame the index of its module; UINT32_MAX: none (code made at run time).  Once a
 *            module was unloaded and another came to its place, the address alone does not tell
 *   modules  ordered by when they were first seen
 *   stack_heaps  for each stack the heap whose blocks it allocated; 0: malloc's, or a heap without a name.
 *            Two heaps that allocate through the same frames have two stacks
 *   heaps    index = memprof_heap_id; the first is that of id 0, without a name
 *   mappings  ordered by start; none without memprof_options.mappings.  Exact, and no part of any sum of blocks.
 *            Their stacks are of the heap "mmap", with totals of 0
 *   strings  NUL-terminated texts, addressed by offsets (paths, symbol names); *count is in bytes */
MEMPROF_API const memprof_record* memprof_snapshot_records(const memprof_snapshot* snapshot, uint64_t* count);
MEMPROF_API const memprof_totals* memprof_snapshot_peaks(const memprof_snapshot* snapshot, uint64_t* count);
MEMPROF_API const memprof_lifetime* memprof_snapshot_lifetimes(const memprof_snapshot* snapshot,
                                                               uint64_t* count);
MEMPROF_API const memprof_rate_use* memprof_snapshot_rates(const memprof_snapshot* snapshot, uint64_t* count);
MEMPROF_API const memprof_stack* memprof_snapshot_stacks(const memprof_snapshot* snapshot, uint64_t* count);
MEMPROF_API const uint64_t* memprof_snapshot_frames(const memprof_snapshot* snapshot, uint64_t* count);
MEMPROF_API const memprof_runtime_frame* memprof_snapshot_runtime_frames(const memprof_snapshot* snapshot,
                                                                         uint64_t* count);
MEMPROF_API const uint32_t* memprof_snapshot_frame_modules(const memprof_snapshot* snapshot, uint64_t* count);
MEMPROF_API const memprof_module* memprof_snapshot_modules(const memprof_snapshot* snapshot, uint64_t* count);
MEMPROF_API const uint32_t* memprof_snapshot_stack_heaps(const memprof_snapshot* snapshot, uint64_t* count);
MEMPROF_API const memprof_heap* memprof_snapshot_heaps(const memprof_snapshot* snapshot, uint64_t* count);
MEMPROF_API const memprof_mapping* memprof_snapshot_mappings(const memprof_snapshot* snapshot,
                                                             uint64_t* count);
MEMPROF_API const char* memprof_snapshot_strings(const memprof_snapshot* snapshot, uint64_t* count);

/* The bounds between the classes of lifetimes, in nanoseconds, ascending: class i holds those of bounds[i - 1]
 * and more, and less than bounds[i]; the first and the last class have one bound.  *count (which may be NULL)
 * becomes the number of bounds.  Never NULL; static. */
MEMPROF_API const uint64_t* memprof_lifetime_bounds(uint64_t* count);

/* What was allocated and freed again within `lifetime_ns`, for each stack: fills totals[stack_id] for the first
 * `count` stacks of the snapshot.  The bound of a class that is next to lifetime_ns is used; *used_ns (which may
 * be NULL) becomes that.  What was freed after an unknown time is in none (memprof_snapshot_lifetimes).
 * MEMPROF_ERR_INVALID: snapshot or totals is NULL, count is more than there are stacks, or lifetime_ns is 0. */
MEMPROF_API int memprof_snapshot_younger(const memprof_snapshot* snapshot, uint64_t lifetime_ns,
                                         memprof_totals* totals, uint64_t count, uint64_t* used_ns);

/* ---- Estimates ---------------------------------------------------------------------------------------- */

/* What any samples together stand for, with the 95 % interval of the sum.  A block of s bytes drawn at the rate R
 * is sampled with p = 1 - exp(-s / R), so behind n samples of it n (1 - p) / p blocks were missed, on average.
 *   value  sum of s / p (bytes), of 1 / p (blocks)
 *   low    the 2.5 % quantile of what the samples show and what they missed, given that there was a sample
 *   high   the 97.5 % quantile, with 0.7 of one more sample of the kind behind which most can hide
 * low <= value <= high; all three are the same where every block was recorded.  Ends of intervals must not be
 * added: the interval of a sum comes from its samples.  These are the intervals of `memprof report`
 * (docs/accuracy.md).
 *
 * The functions below read and change nothing of the profiler and may be called in any state, by many threads at
 * once.  They take memory from malloc, which is not sampled, and must not be called in a signal handler or an
 * allocator.  Results are only written on success; `bytes` and `blocks` may be NULL.
 * MEMPROF_ERR_INVALID: an array is NULL and its count is not 0.  MEMPROF_ERR_NO_MEMORY. */
typedef struct memprof_estimate {
  double value;
  double low;
  double high;
} memprof_estimate;

/* Live samples of one size and one rate. */
typedef struct memprof_sample_group {
  uint64_t size_bytes; /* as in memprof_record                                                             */
  uint64_t rate_bytes;
  uint64_t samples; /* how many of them                                                                    */
} memprof_sample_group;

/* The sum of live samples.  A group may be there several times. */
MEMPROF_API int memprof_estimate_samples(const memprof_sample_group* groups, uint64_t count,
                                         memprof_estimate* bytes, memprof_estimate* blocks);

/* The sum of running totals, such as memprof_stack.allocated of several stacks, memprof_snapshot_peaks,
 * memprof_snapshot_younger. */
MEMPROF_API int memprof_estimate_totals(const memprof_totals* totals, uint64_t count, memprof_estimate* bytes,
                                        memprof_estimate* blocks);

/* What `after` holds more than `before` (negative: less), where the two were sampled independently: two processes;
 * or one process, without the blocks that both have.  The ends are quantiles of the difference of the
 * two distributions, as in `memprof diff`: a side without a sample may have missed blocks such as the other
 * shows (docs/diff.md).  0 is outside of the interval: more than chance. */
MEMPROF_API int memprof_estimate_difference(const memprof_sample_group* before, uint64_t before_count,
                                            const memprof_sample_group* after, uint64_t after_count,
                                            memprof_estimate* bytes, memprof_estimate* blocks);

/* ---- Names -------------------------------------------------------------------------------------------- */

/* The name of one frame, as far as the dynamic symbols tell it. */
typedef struct memprof_symbol {
  uint64_t name_offset;   /* of the (mangled) name in the array of strings; 0: the empty string, unknown   */
  uint64_t symbol_offset; /* return address minus start of the function; 0 if unknown                      */
} memprof_symbol;

/* Looks up the names of all frames of a snapshot with dladdr (exported functions only; `memprof report` on a
 * written profile finds more).  It is slow, takes the loader's lock and is not for a time-critical thread;
 * its own allocations are not sampled.  Not for use by two threads at once on one snapshot, nor while others
 * read its strings.  Returns the number of frames that got a name, or a negative error. */
MEMPROF_API int64_t memprof_resolve_symbols(memprof_snapshot* snapshot);

/* The names that memprof_resolve_symbols found, one for each element of the array of frames; NULL (and
 * *count 0) before that call. */
MEMPROF_API const memprof_symbol* memprof_snapshot_symbols(const memprof_snapshot* snapshot, uint64_t* count);

/* ---- Profiles ----------------------------------------------------------------------------------------- */

enum { MEMPROF_WRITE_OVERWRITE = 1 };

/* Takes a snapshot and writes it as a pprof profile (profile.proto).  The end of `path` says how: .pb.gz (or
 * .pprof) is compressed, .pb is not; with any other it is refused, because only the memprof command can write
 * other formats.  In `path`, %p is the process id, %n the name of the program, %t the time in seconds since
 * 1970, %% a percent sign.  The profile goes to a temporary file beside it that is renamed when it is whole;
 * an existing file is replaced only with MEMPROF_WRITE_OVERWRITE in `flags`.
 * MEMPROF_ERR_INVALID (the path), MEMPROF_ERR_EXISTS, MEMPROF_ERR_SYSTEM (errno), and those of
 * memprof_get_snapshot. */
MEMPROF_API int memprof_write_profile(const char* path, uint32_t flags);

/* The heap of a language's runtime, where the runtime itself can be asked for it: live objects by the calls that made
 * them. */
typedef struct memprof_runtime_heap_node {
  const char* function_name;
  const char* file;    /* "": not known                                                                  */
  uint64_t live_bytes; /* of objects that the function itself made; as the runtime estimates them        */
  uint32_t line;       /* 0: not known                                                                   */
  uint32_t parent;     /* index of the caller, which stands before it; its own: nobody is known          */
} memprof_runtime_heap_node;

typedef struct memprof_runtime_heap {
  uint32_t struct_size; /* sizeof(memprof_runtime_heap), set by the caller                             */
  uint32_t runtime;     /* MEMPROF_RUNTIME_V8                                                          */
  const memprof_runtime_heap_node* nodes; /* NULL only where there are none                               */
  uint64_t node_count;
  uint64_t resident_bytes; /* of the heap in memory, as the runtime counts it                             */
  uint64_t used_bytes;     /* of it objects                                                               */
  uint64_t live_bytes;     /* of these the ones that live: used_bytes after a garbage collection          */
  uint64_t code_bytes;     /* of it machine code                                                          */
  uint64_t external_bytes; /* outside of it, kept by objects: blocks that the profile has already         */
  /* Of resident_bytes, by what the collector does with it; all 0: not known.  A caller's struct may end before them. */
  uint64_t young_bytes; /* young objects                                                               */
  uint64_t old_bytes;   /* older ones                                                                  */
  uint64_t large_bytes; /* objects that are large                                                      */
} memprof_runtime_heap;

/* The same as memprof_write_profile of a snapshot that was taken before, of this process or another.  `heap`: a runtime's
 * heap besides, for packages of languages, who ask their runtime; NULL: none.  It is a sample type of its own (js_space),
 * which no other has a part of.  Names and files that are equal should be one string.  MEMPROF_ERR_INVALID also where it is
 * no such tree. */
MEMPROF_API int memprof_snapshot_write_profile(const memprof_snapshot* snapshot, const char* path,
                                               uint32_t flags, const memprof_runtime_heap* heap);

/* The same as memprof_write_profile to an open file descriptor, not compressed; it stays open.  After an error a part may have been
 * written. */
MEMPROF_API int memprof_write_profile_fd(int fd);

/* A snapshot as such a profile. */
MEMPROF_API int memprof_snapshot_write_fd(const memprof_snapshot* snapshot, int fd);

#ifdef __cplusplus
}
#endif

#endif /* MEMPROF_H_ */
