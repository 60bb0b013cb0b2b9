// SPDX-License-Identifier: Apache-2.0
// Libraries that a program opens in a way that makes them find another malloc than the hooks (docs/decisions/0130).
//
// Model: a library that is opened with RTLD_DEEPBIND looks names up among the libraries that it needs first, and finds the C
// library's malloc there. Before the first one is opened, the C library's own table of symbols is made to define
// the hooks, which go on to the functions that stood there: blocks come from where they came from, whoever frees them.
//     name of the hooks, looked up by a library:   process's scope -> hook
//                                                  C library's own -> hook, from then on
// Where that is not safe (the hooks go on to another allocator than the C library, or one stands in front of them), such
// libraries are counted. A library in a namespace of its own (dlmopen) has a C library of its own, too, with a heap
// of its own: it is counted always.
//
// Threads: any. fork: a child does what its parent had begun once more.
// Allocates: what the loader does for dlsym.
// Failure: counted (bypassing_libraries of memprof_stats).
#pragma once

#include "platform/linux/interpose/loader_calls.h"  // before_open_apart

namespace memprof::interpose {

// Before dlopen or dlmopen open a library, with these flags of theirs.
void before_open(int flags);
// Before a library is closed, and when the process ends: which of those there are.
void look_at_namespaces();

}  // namespace memprof::interpose
