// SPDX-License-Identifier: Apache-2.0
// May a thread of a program of musl be made to load a library where it is stopped?  musl's loader, allocator and the rest are one
// file, whose local functions have no names; so what is not known to be harmless is unsafe.
//
// Model: frames in musl that call one another are a visit, which a function that the program called began.  A visit is harmless
// if that function has a name that is known to take no lock which loading a library takes (waits, transfers, mutexes of the
// program, strings), and no frame of it is one that keeps mmap waiting.  The last visit of a stack is musl's start code, which called the program: one frame.
//
// Threads: no state.
#pragma once

#include <string>
#include <vector>

#include "memprof/attach/linux/target/target_image.h"

namespace memprof::cli {

// `addresses`: of a stack that was walked to its root, leaf first: in the instruction that executes, or that is a call.
// "": harmless; otherwise what the thread is in.
std::string unsafe_in_musl(const TargetImage& musl, const std::vector<uint64_t>& addresses);

// The same of one return address on a stack that cannot be walked; `begins_stacks`: its function is one where stacks begin.
std::string unsafe_in_musl(const TargetImage& musl, uint64_t return_address, bool begins_stacks);

bool is_in_musl(const TargetImage& musl, uint64_t address);

// The loader and C library of musl.
bool is_musl_library(const TargetImage& image);

}  // namespace memprof::cli
