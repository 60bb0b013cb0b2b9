// SPDX-License-Identifier: Apache-2.0
// What knows a C library's insides: a folder beside this file for each, which defines all of this; a build takes the one of
// the C library that it is for.
//
// Threads, signals: as said below.
// Allocates: as said below; the loader may, for itself.
#pragma once

#include <link.h>

#include <cstddef>
#include <cstdint>

#include "format/programs/preloadable.h"

namespace memprof::platform::libc {

// Whose loader may load what is built with this one.
extern const Libc kOwn;

// The loader's name of the module that `address` lies in, as dlopen takes it; "": the program.  nullptr: it lies in none.
// Takes the loader's lock: must not be called from a hook that the loader may be behind.
const char* module_name(uint64_t address);

// The exported symbol that `address` lies in: its name and where it begins.  false: there is none.  Takes the loader's lock.
bool find_symbol(uint64_t address, const char** name, uint64_t* start);

// The allocator by names that nothing can be put in front of, for the case that dlsym finds none.  nullptr: no such name.
struct Allocator {
  void* (*malloc)(size_t);
  void (*free)(void*);
  void* (*calloc)(size_t, size_t);
  void* (*realloc)(void*, size_t);
  void* (*memalign)(size_t, size_t);
};
Allocator own_allocator();

// `name` by the version of the C library's first functions, by which programs ask for them; nullptr: none, or symbols have no
// versions.  Takes the loader's lock.
void* find_first_version(const char* name);

// `name` behind this library in the loader's order, where programs' calls go on from a hook; nullptr: nobody defines it.  Where
// this library was opened by dlopen, behind which musl has nothing: what programs' calls come to.  Takes the loader's lock.
void* find_next(const char* name);

// Namespaces of modules beside the program's own (dlmopen); `debug`: the loader's _r_debug, or nullptr.  false: the loader
// does not say.  The caller holds the loader's lock.
bool count_namespaces(const r_debug* debug, uint64_t* count);

// Are its own functions, and programs that are made with it, described by unwind tables?  Any thread, any time.
bool has_unwind_tables();
// Where they are not: looks for functions that never return; once, where dlsym may be called.
void learn_functions();
bool is_noreturn(uint64_t function);

// Where the main thread's stack ends; all of it below is readable.  0: not known.  Any thread, any time.
uint64_t main_stack_end();

}  // namespace memprof::platform::libc
