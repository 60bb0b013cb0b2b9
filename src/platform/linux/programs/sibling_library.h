// SPDX-License-Identifier: Apache-2.0
// The libmemprof.so beside ours that was built for the other C library, for programs of that.
//
// Model: FOLDER/libmemprof.so is for glibc, FOLDER/memprof/musl/libmemprof.so for musl; or a variable of the environment
// names it: MEMPROF_MUSL_LIBRARY, MEMPROF_GLIBC_LIBRARY, empty for none.
//
// Threads, signals, vfork children: may ask for it.
// Allocates: never.
#pragma once

namespace memprof::platform {

// Looks once, from the path of our own library: at the start, when no other thread changes the environment.
void find_sibling_library(const char* own);

// A path that LD_PRELOAD can hold; "": there is none.  Static memory.
const char* sibling_library();

}  // namespace memprof::platform
