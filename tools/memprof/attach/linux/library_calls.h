// SPDX-License-Identifier: Apache-2.0
// The system calls that memprof makes in a process that it was attached to: while the library is loaded, by its hooks,
// while its tables grow, when it is stopped, and at the process's end.
//
// Recorded, not made up: tests/e2e/library_calls_test.py records a process's calls (tests/e2e/programs/records_calls.c) and fails
// where one is not in the list.  A filter may look at arguments: those that say what is done are in it; where others can
// come, those are lines of their own.
#pragma once

#include <sys/syscall.h>

#include <cstdint>

namespace memprof::cli {

struct LibraryCall {
  long number;
  const char* name;
  struct Argument {
    int index = -1;  // none
    uint64_t value = 0;
  } arguments[2] = {};
};

inline constexpr LibraryCall kLibraryCalls[] = {
    // Memory: of the library's file, of its tables, of a shared file, of code.
    {SYS_mmap, "mmap", {{2, 0x0}, {3, 0x4022}}},
    {SYS_mmap, "mmap", {{2, 0x0}, {3, 0x104022}}},
    {SYS_mmap, "mmap", {{2, 0x1}, {3, 0x802}}},
    {SYS_mmap, "mmap", {{2, 0x1}, {3, 0x812}}},
    {SYS_mmap, "mmap", {{2, 0x3}, {3, 0x22}}},
    {SYS_mmap, "mmap", {{2, 0x3}, {3, 0x32}}},
    {SYS_mmap, "mmap", {{2, 0x3}, {3, 0x812}}},
    {SYS_mmap, "mmap", {{2, 0x3}, {3, 0x4022}}},
    {SYS_mmap, "mmap", {{2, 0x3}, {3, 0x100022}}},
    {SYS_mmap, "mmap", {{2, 0x3}, {3, 0x104001}}},
    {SYS_mmap, "mmap", {{2, 0x5}, {3, 0x22}}},
    {SYS_mmap, "mmap", {{2, 0x5}, {3, 0x812}}},
    {SYS_munmap, "munmap"},
    {SYS_mremap, "mremap", {{3, 0x0}}},
    {SYS_mprotect, "mprotect", {{2, 0x1}}},
    {SYS_mprotect, "mprotect", {{2, 0x3}}},
    {SYS_mprotect, "mprotect", {{2, 0x5}}},
    {SYS_madvise, "madvise", {{2, 0xf}}},
    {SYS_madvise, "madvise", {{2, 0x12}}},
    {SYS_madvise, "madvise", {{2, 0x17}}},
    // Files.
    {SYS_openat, "openat", {{2, 0x80000}}},
    {SYS_openat, "openat", {{2, 0xa00c2}}},
    {SYS_read, "read"},
    {SYS_close, "close"},
    {SYS_fstat, "fstat"},
    {SYS_newfstatat, "newfstatat", {{3, 0x1000}}},
    {SYS_fchmod, "fchmod"},
    {SYS_ftruncate, "ftruncate"},
    {SYS_faccessat, "faccessat", {{2, 0x0}}},
    {SYS_faccessat, "faccessat", {{2, 0x4}}},
    {SYS_unlinkat, "unlinkat"},
#if defined(SYS_access)
    {SYS_access, "access"},
    {SYS_readlink, "readlink"},
#else
    {SYS_readlinkat, "readlinkat"},
#endif
    // The process, its threads and its signals.
    {SYS_getpid, "getpid"},
    {SYS_gettid, "gettid"},
    {SYS_getrusage, "getrusage", {{0, 0x0}}},
    {SYS_prlimit64, "prlimit64", {{1, 0x9}}},
    {SYS_getrandom, "getrandom", {{2, 0x1}}},
    {SYS_clock_gettime, "clock_gettime"},
    {SYS_process_vm_readv, "process_vm_readv"},
    {SYS_rt_sigprocmask, "rt_sigprocmask", {{0, 0x0}}},
    {SYS_rt_sigprocmask, "rt_sigprocmask", {{0, 0x2}}},
    {SYS_rt_sigprocmask, "rt_sigprocmask", {{0, 0xffffffff}}},
    {SYS_rt_sigpending, "rt_sigpending"},
    {SYS_rt_sigtimedwait, "rt_sigtimedwait"},
    {SYS_sigaltstack, "sigaltstack"},
    // Not in every recording.  Where the library's file is not seen in the process; where its kernel is older than 5.14
    // (FUTEX_WAKE_OP); where two threads come for the same; where the loader reads more of a file, or a table is given
    // back; what the loader allocates; and a call of the process's own that goes on after a stop.
    {SYS_memfd_create, "memfd_create"},
    {SYS_futex, "futex", {{1, 0x85}}},
    {SYS_futex, "futex", {{1, 0x80}}},
    {SYS_futex, "futex", {{1, 0x81}}},
    {SYS_sched_yield, "sched_yield"},
    {SYS_nanosleep, "nanosleep"},
    {SYS_msync, "msync"},
    {SYS_pread64, "pread64"},
    {SYS_lseek, "lseek"},
    {SYS_madvise, "madvise", {{2, 0x9}}},
    {SYS_madvise, "madvise", {{2, 0x4}}},
    {SYS_brk, "brk"},
    {SYS_rt_sigaction, "rt_sigaction"},
    {SYS_rt_sigreturn, "rt_sigreturn"},
    {SYS_restart_syscall, "restart_syscall"},
};

// What is asked besides in a process of musl: by its loader, which opens files in its own way and orders the other threads, and by
// its locks.  Recorded with strace (tests/musl/programs/starts.c).
inline constexpr LibraryCall kMuslCalls[] = {
    {SYS_mmap, "mmap", {{2, 0x1}, {3, 0x2}}},
    {SYS_mmap, "mmap", {{2, 0x3}, {3, 0x12}}},
    {SYS_mmap, "mmap", {{2, 0x5}, {3, 0x12}}},
#if defined(SYS_open)
    {SYS_open, "open", {{1, 0x88000}}},
    {SYS_stat, "stat"},
#endif
    {SYS_fcntl, "fcntl", {{1, 0x2}}},
    {SYS_futex, "futex", {{1, 0x0}}},
    {SYS_futex, "futex", {{1, 0x1}}},
    {SYS_membarrier, "membarrier", {{0, 0x8}}},
    {SYS_rt_sigprocmask, "rt_sigprocmask", {{0, 0x1}}},
};

}  // namespace memprof::cli
