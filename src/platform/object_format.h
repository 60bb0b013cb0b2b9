// SPDX-License-Identifier: Apache-2.0
// What the engine asks of object files, as each of their formats (ELF, Mach-O, PE) says it: a section of its own, and
// thread-local data that other modules use by name.  It asks for the compiler's format, not for the system.
#pragma once

// The section of the hooks (core/hooks/hook.h).  A system's folder finds where it begins and ends:
//   ELF     at __start_memprof_hooks and __stop_memprof_hooks, since its name is a C identifier
//   Mach-O  at section$start$__TEXT$memprof_hooks and section$end$__TEXT$memprof_hooks
//   PE      at data in .mphook$a and .mphook$z: the linker sorts by what follows the $, and leaves it out
#if defined(__ELF__)
#define MEMPROF_HOOK_SECTION "memprof_hooks"
#elif defined(__MACH__)
#define MEMPROF_HOOK_SECTION "__TEXT,memprof_hooks,regular,pure_instructions"
#else
#define MEMPROF_HOOK_SECTION ".mphook$m"
#endif

// After the declarator of thread-local data.  ELF: the symbol is `name`, which programs may use, and in this module it
// is always this module's own (protected), so its address costs what a hidden one costs.  The other formats cannot
// export thread-local data: a function returns its address instead (memprof_abi1_thread_count).
#if defined(__ELF__)
#define MEMPROF_PUBLIC_THREAD_DATA(name) __asm__(name) __attribute__((visibility("protected")))
#else
#define MEMPROF_PUBLIC_THREAD_DATA(name) __attribute__((visibility("hidden")))
#endif

// After the declarator of thread-local data: initial-exec, a fixed offset from the thread pointer, never a call into the loader.
// With MEMPROF_DYNAMIC_TLS (a library for musl's dlopen, which refuses that model) a call of __tls_get_addr, which neither
// allocates nor locks in musl.
#if defined(MEMPROF_DYNAMIC_TLS)
#define MEMPROF_TLS_MODEL __attribute__((tls_model("global-dynamic")))
#else
#define MEMPROF_TLS_MODEL __attribute__((tls_model("initial-exec")))
#endif

// Where the compiler's thread-local data is a call that may allocate (PE: gcc emulates it; Mach-O: dyld allocates it by malloc at
// a thread's first use), the sampler's state is found by a slot of the system's instead (platform/thread_slot.h).
#if !defined(__ELF__)
#define MEMPROF_THREAD_SLOT
#endif
// Where that slot is a call, too, which does not allocate.
#if defined(__MACH__)
#define MEMPROF_THREAD_SLOT_BY_CALL
#endif
