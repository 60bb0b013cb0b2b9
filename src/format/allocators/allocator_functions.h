// SPDX-License-Identifier: Apache-2.0
// The functions of allocators that programs and libraries have inside them, by name: which there are, and which of their
// arguments is the size, the block and so on.  What is known is a table (allocator_table.h); docs/allocators.md
// says how a family is added to it.  The library hooks these functions, and `memprof doctor` tells of them.
//
// Model: one allocator of a module is a family and a prefix: jemalloc is built with any (`_rjem_`, `duckdb_je_`), which
// shows in names that only jemalloc has (`_rjem_mallocx`).  So names are read twice: note() each, then match() each.
//     names of a module ── note() ── prefixes, markers ── match() ── allocator, function
//
// Threads: one at a time for each object.
// Allocates: never.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof {

enum class AllocatorCall : uint8_t {
  kAllocate,
  kThrowingAllocate,  // as operator new does: the caller may get an exception instead
  kReallocate,
  kThrowingReallocate,
  kFree,
  kAllocateInto,   // posix_memalign: the block is stored, 0 is returned
  kResizeInPlace,  // xallocx: the new size is returned
  kDestroyHeap,    // with all blocks in it
  kUsableSize,     // not hooked: asked
  kVisitHeap,      // not hooked: says where the blocks of a heap lie
  kDefaultHeap,    // not hooked: returns a heap
  kMallctl,        // not hooked: asked what the allocator has (core/counts/allocator_counts.h)
  kNumericProperty,
};

// Functions that are not hooked.
constexpr bool is_asked_only(AllocatorCall call) {
  return call >= AllocatorCall::kUsableSize;
}

inline constexpr uint8_t kNoArgument = 0xff;
inline constexpr uint32_t kMaxAllocatorArguments = 5;

// Which argument is what; kNoArgument: there is none.
struct AllocatorSignature {
  AllocatorCall call = AllocatorCall::kAllocate;
  uint8_t arguments = 0;
  uint8_t size = kNoArgument;
  uint8_t count = kNoArgument;  // the size is that of one of so many
  uint8_t alignment = kNoArgument;
  uint8_t old_size = kNoArgument;
  uint8_t block = kNoArgument;
  uint8_t heap = kNoArgument;
  uint8_t result = kNoArgument;  // where the block is stored
  // Another one of the allocator's functions: nothing is missed where it is not hooked itself.
  bool calls_another = false;
  bool is_small = false;  // it may be called with sizes up to 1024 only
};

// An allocator of a module.
struct InnerAllocator {
  static constexpr uint32_t kMaxPrefixBytes = 31;
  const char* family;  // "jemalloc"
  char prefix[kMaxPrefixBytes + 1];
};

// false: all that is known of its functions is their names, "malloc" and the like.
bool is_known_family(const char* family);

class AllocatorNames {
 public:
  static constexpr uint32_t kMax = 8;  // allocators of a module

  // `is_program`: its own malloc and operators come before those of libraries, and are meant, too.
  explicit AllocatorNames(bool is_program) : is_program_(is_program) {}

  // Each name of a function that the module defines; first all of them.  false: match() will say no.
  bool note(const char* name);
  // The names of a sanitizer's own malloc, or of memprof, were among them: nothing is to be hooked.
  bool is_excluded() const { return is_excluded_; }
  uint32_t count() const { return count_; }
  const InnerAllocator& operator[](uint32_t i) const { return found_[i]; }

  // Is the function one of an allocator's?  The index of it, and how the function is called; -1: it is none.
  int match(const char* name, AllocatorSignature* signature);
  // May the function be one that maps memory for an allocator?
  static bool may_map(const char* name);
  // After match() of all names: for which allocator the function maps memory; -1: for none that was found.
  int mapped_for(const char* name) const;

 private:
  void note_plain(const char* name);  // neither of C++ nor of Rust
  int match_caller(const char* name, AllocatorSignature* signature);
  int find_or_add(const char* family, const char* prefix, size_t prefix_bytes);
  const char* family_of_malloc() const;

  const bool is_program_;
  bool is_excluded_ = false;
  uint32_t count_ = 0;
  InnerAllocator found_[kMax] = {};
  uint32_t prefix_count_ = 0;
  char prefixes_[kMax][InnerAllocator::kMaxPrefixBytes + 1] = {};
  uint32_t markers_ = 0;  // a bit for each family whose marker was among the names
};

}  // namespace memprof
