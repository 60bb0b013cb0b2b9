// SPDX-License-Identifier: Apache-2.0
// The functions that stand in front of a Python allocator (PyMem_SetAllocator).
//
// Model: a hook set is a group of hooks with the functions that they go on to. The context of an allocator is
// not ours: hooks hand on what they are called with. So whoever has copied a table with our hooks (a wrapper
// like tracemalloc, which puts it back later) may use it for ever, and a table that was read while it was
// being written (PyMem_SetAllocator is not atomic) holds nothing that does not fit together.
//
// No block is counted twice.  What an allocator passes on to malloc is seen there:
//     pool      pymalloc: 1 to 512 bytes are its own, the rest goes to malloc and is left to malloc's hooks
//     lender    pymalloc, too: for a block that is a sample it is asked for 513 bytes, and goes to malloc. So
//               the free of every sample is seen by malloc's hooks, and that of pymalloc gets none: it costs
//               what it costs without us.  Not for small rates: each sample takes 513 bytes.
//     whole     mimalloc, or malloc where there are no hooks of ours: all blocks are its own
//     careful   who knows: the hook counts the block as it was asked for, and during the real call malloc's
//               hooks count nothing on this thread
// realloc of a pool is careful for up to 512 bytes, because such a block may be malloc's, if it was larger;
// and for blocks that may be recorded, because it has work left when the real call returns.  A lender's does
// the real call first: what moved the thread's clock was malloc's and is counted.  Its frame is then on the
// stack of a sample that malloc's hook takes, and is left out (runtime/merge.h).
//
// Threads, signals, fork: as the hooks of malloc.  errno: kept as the real function left it.
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/cpython/interpreter.h"

namespace memprof::cpython {

enum class Serving : uint8_t { kPool, kLender, kWhole, kCareful };

// Largest block that pymalloc serves itself, in all versions since 3.3 (SMALL_REQUEST_THRESHOLD).
inline constexpr size_t kPoolMaxBytes = 512;

// From this rate on pymalloc is a lender: samples of blocks of 64 bytes then take 1.5 % more memory for all
// of them together (513 / rate).
inline constexpr uint64_t kMinLenderRateBytes = 32 * 1024;

struct HookSet {
  Allocator next;  // what the hooks go on to; its ctx is not used
  Serving serving;
};

inline constexpr uint32_t kMaxHookSets = 8;

// The set whose hooks go on to the functions of `allocator`, made if need be; nullptr: there are too many.
// One caller at a time, in this and what follows.
const HookSet* hook_set_for(const Allocator& allocator, Serving serving);

// The same, if it is there already.
const HookSet* existing_hook_set(const Allocator& allocator, Serving serving);

// The module that all of them lead into is gone, and with it everybody who could call them.
void forget_hook_sets();

// What is to be installed in place of `allocator`, which the set was made for.
Allocator hooked(const Allocator& allocator, const HookSet& set);

// The set whose hooks these functions are; nullptr: they are none.
const HookSet* set_of_hooks(const Allocator& allocator);

// Is it the address of such a hook of `malloc`, which every table has that has hooks?
bool is_object_hook(uint64_t address);

bool is_same_functions(const Allocator& a, const Allocator& b);

}  // namespace memprof::cpython
