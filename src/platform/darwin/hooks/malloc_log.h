// SPDX-License-Identifier: Apache-2.0
// Allocations as libmalloc tells of them: it calls what `malloc_logger` points to.
//
// What the words mean (libmalloc 792.1.1, malloc.c), `type` a sum of 2 allocation, 4 free, 8 the first argument is a zone,
// 64 the block was cleared; arguments behind a zone move by one:
//     malloc, calloc, valloc, memalign, batch    after it: size, 0, result the block
//     free, free of a batch                      before it: the block
//     realloc                                    after it: old block, size, result the new block (0: it failed)
//     realloc to size 0                          as a malloc and a free
// A realloc that has returned has freed the old block for all threads, and its address may be another thread's block already.
// So realloc itself is looked at before (library/interposed.cc), which says so by t_moved_block; only reallocs that come
// another way are taken as the logger tells of them.
//
// Threads: any.  Allocates: never.
#pragma once

namespace memprof::platform {

// The old block of the realloc that the thread is in; nullptr: none that was seen before.
extern __thread const void* t_moved_block __attribute__((visibility("hidden")));

// Sets the logger, for ever: libmalloc reads the variable twice, so it may not become NULL again.  One that was there is called,
// too.  false: there is no memory for threads' states.
bool set_malloc_logger();
bool is_malloc_logger_set();

}  // namespace memprof::platform
