// SPDX-License-Identifier: Apache-2.0
// Hooks of the loader's functions for processes whose import tables are patched: before dlsym, dlopen and the
// like run, libraries that were loaded meanwhile are noticed.
//
// Model: each hook keeps its arguments, calls memprof_before_loader_call and jumps to the real function,
// which so has its real caller: the caller's search paths, namespace and RTLD_NEXT stay what they are.  After
// dlopen nothing of ours runs; a program that loads a library asks for a name in it next, and that is
// noticed.
//
// Lock order: looking for new libraries waits for the lock that dlopen takes to list what it has loaded.
// Whoever calls dlsym waits for a dlopen that is under way, and so for that lock, anyhow: no order is new.
#pragma once

#include <dlfcn.h>

namespace memprof::platform {

// What the hooks call: points the imports of libraries that were loaded meanwhile at the hooks.  Defined by
// those who know import tables (imports/import_patch.cc), which lie above the hooks.
void patch_new_imports();

// Hooks the allocators that are inside modules, where the environment asks for it; before the program has threads.
// Defined above the hooks, too (inline_hooks/inline_hooks.cc).
void hook_inner_allocators();

}  // namespace memprof::platform

namespace memprof::interpose {

// Before dlmopen opens a library outside of the process's own namespace: it is counted (process/deep_binding.cc).
void before_open_apart();

}  // namespace memprof::interpose

// A C struct, because the hooks are written in assembly; its members in the order of the hooks there.
struct MemprofRealLoader {
  void* (*dlopen)(const char*, int);
  void* (*dlmopen)(long, const char*, int);
  void* (*dlsym)(void*, const char*);
  void* (*dlvsym)(void*, const char*, const char*);
  int (*dladdr)(const void*, Dl_info*);
  int (*dlclose)(void*);
};

extern "C" {
extern MemprofRealLoader memprof_real_loader __attribute__((visibility("hidden")));

__attribute__((visibility("hidden"))) void memprof_hook_dlopen();
__attribute__((visibility("hidden"))) void memprof_hook_dlmopen();
__attribute__((visibility("hidden"))) void memprof_hook_dlsym();
__attribute__((visibility("hidden"))) void memprof_hook_dlvsym();
__attribute__((visibility("hidden"))) void memprof_hook_dladdr();

// Keeps errno.
__attribute__((visibility("hidden"))) void memprof_before_loader_call();
}
