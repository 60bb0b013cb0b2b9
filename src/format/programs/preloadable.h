// SPDX-License-Identifier: Apache-2.0
// Into which programs libmemprof.so must not be preloaded, by what their files name: they would not start.
// The hooks of exec ask it, and the command.
//
// Threads: plain functions.  Signals: for handlers, too.
// Allocates: never.
#pragma once

#include <cstddef>

namespace memprof {

// A runtime of a compiler's sanitizer has a malloc of its own, which must be called before any other.
struct Sanitizer {
  const char* name;          // as its messages call it
  const char* init;          // what a program that it is linked into exports
  const char* libraries[2];  // what names of its shared libraries begin with: gcc's, clang's
};
inline constexpr Sanitizer kSanitizers[] = {
    {"AddressSanitizer", "__asan_init", {"libasan.so", "libclang_rt.asan"}},
    {"ThreadSanitizer", "__tsan_init", {"libtsan.so", "libclang_rt.tsan"}},
    {"LeakSanitizer", "__lsan_init", {"liblsan.so", "libclang_rt.lsan"}},
    {"MemorySanitizer", "__msan_init", {"libmsan.so", "libclang_rt.msan"}},
    {"HWAddressSanitizer", "__hwasan_init", {"libhwasan.so", "libclang_rt.hwasan"}},
};

// Whose runtime a library is, by its path or its name; nullptr: of none.
const Sanitizer* sanitizer_of_library(const char* path);
// Who exports `symbol` as its beginning; nullptr: none.
const Sanitizer* sanitizer_of_symbol(const char* symbol);

// Whose loader (PT_INTERP) this is.  One of musl that is given a library which was built for glibc fails to bind it, and ends.
enum class Libc { kGlibc, kMusl, kOther };
Libc libc_of_loader(const char* path);

}  // namespace memprof
