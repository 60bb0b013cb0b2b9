// SPDX-License-Identifier: Apache-2.0
// Code objects -> ids of the profile's table of code (core/tables/code_table.h).
//
// Model: a cache of code objects by address.  An address alone says nothing: code is dropped and other code
// comes to its place, with the same file, name and line table at the same addresses.  So the type of code
// objects gets a function of ours in front of its deallocation (watch_codes), which takes the entry out; what
// a frame runs lives.  Where that was not possible nothing is remembered, and every code object is read
// whenever it is met.
//
// Threads: any number.  An entry is two words that fit together or are no entry, so nobody waits.
// Signals: as threads.
// Allocates: never; 260 KiB of static memory, touched where it is used.
// Failure: false: the object is none that a frame can have.
#pragma once

#include <atomic>
#include <cstdint>
#include <type_traits>

#include "format/hash.h"
#include "format/runtime_frame.h"
#include "runtime/cpython/layout.h"
#include "runtime/cpython/memory.h"

namespace memprof::cpython {

// What is known of a code object: runtime_frame(id, bytes before its first traceable instruction); a frame
// before that does not run yet.  id: unknown_code() when the table is full.  0: it is no code object.
using CodeWord = uint64_t;

// What is remembered now: of this profile's tables, of this interpreter.
struct CodeCache {
  uint64_t salt;  // kNothing: nothing is
  static constexpr uint64_t kNothing = 0;
};
CodeCache code_cache();

// The cache's words for one object.  `check` is the key, mixed with the other word: a reader that gets the
// words of two writers finds nothing.
struct alignas(16) CodeSlot {
  std::atomic<uint64_t> check;  // relaxed, both
  std::atomic<CodeWord> code;   // 0: none

  // 0: it is not here.
  CodeWord find(uint64_t key) const {
    const uint64_t seen = check.load(std::memory_order_relaxed);
    const CodeWord found = code.load(std::memory_order_relaxed);
    return (seen ^ mix(found)) == key ? found : 0;
  }
  void set(uint64_t key, CodeWord word) {
    code.store(word, std::memory_order_relaxed);
    check.store(key ^ mix(word), std::memory_order_relaxed);
  }
  static uint64_t mix(CodeWord word) { return word * kGolden; }
};

inline constexpr uint32_t kCodeSlotBits = 14;
alignas(64) extern CodeSlot g_code_slots[1u << kCodeSlotBits] __attribute__((visibility("hidden")));

// An object has four places: this one and its neighbours in a line of memory.
inline constexpr uint32_t kCodePlaces = 4;
inline CodeSlot* code_slot(uint64_t object) {
  return &g_code_slots[object * kGolden >> (64 - kCodeSlotBits)];
}

// Those that were found last, where the first cache has them at hand: most frames of a stack were in the one before.
inline constexpr uint32_t kRecentSlotBits = 8;
alignas(64) extern CodeSlot g_recent_codes[1u << kRecentSlotBits] __attribute__((visibility("hidden")));
inline CodeSlot* recent_slot(uint64_t object) {
  return &g_recent_codes[object * kGolden >> (64 - kRecentSlotBits)];
}

// Registers a watcher that tells the cache when a code object is dropped.  Idempotent; a second call only
// looks at the interpreter.  Threads: where two call at once, one of them does nothing.
void watch_codes(const Interpreter& interpreter, const Layout& layout);
// The interpreter is gone, and all that is known of its code.
void unwatch_codes();
// In a fork child: no other thread exists.
void reset_codes_in_child();

// Of one that is not remembered.
template <typename Memory>
CodeWord find_code_slowly(const Interpreter& interpreter, const Layout& layout, uint64_t object,
                          CodeCache cache);

// In all places; one that is found is recent then, if its object surely lives until that is done: else its drop could be
// seen before.  0: it is not here.
CodeWord find_remembered(uint64_t object, CodeCache cache, bool is_alive);

// Memory: DirectMemory or CheckedMemory.
template <typename Memory>
[[gnu::always_inline]] inline CodeWord find_code(const Interpreter& interpreter, const Layout& layout,
                                                 uint64_t object, CodeCache cache) {
  CodeWord word = recent_slot(object)->find(object ^ cache.salt);
  if (__builtin_expect(word == 0, 0)) {
    word = find_remembered(object, cache, std::is_same_v<Memory, DirectMemory>);
  }
  return __builtin_expect(word != 0, 1) ? word : find_code_slowly<Memory>(interpreter, layout, object, cache);
}

// Is it a code object that is laid out as expected?  Enters nothing.
bool is_code(const Interpreter& interpreter, const Layout& layout, uint64_t object);

// The code object is about to be dropped.
void forget_code(uint64_t object);

}  // namespace memprof::cpython
