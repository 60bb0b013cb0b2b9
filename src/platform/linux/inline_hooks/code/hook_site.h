// SPDX-License-Identifier: Apache-2.0
// A hooked function of an allocator inside a module, and the allocator.
//
// Model: the function begins with a jump to its stub, which jumps to where HookSite::target says; that word alone decides
// what a call does, and may change at any time:
//     function ── stub ── target ──┬─ first     the first calls: is it the allocator that its names say? (verification.h)
//                                  ├─ fast      counts the bytes down or asks the filter, and goes on; rarely: slow
//                                  ├─ always    the slow path, each time: calls that are rare, or come to other hooks
//                                  └─ original  the moved instructions of the function, and on: nothing is seen
// Sites and allocators lie in pages beside the module's code (near_pages.h) and live as long as it.
//
// Threads: `target`, `state` and the counters are atomic words; the rest is written before the function is patched.
#pragma once

#include <atomic>
#include <cstdint>

#include "core/counts/allocator_counts.h"
#include "format/allocators/allocator_functions.h"
#include "platform/code/relocation.h"

namespace memprof::platform {

struct InnerHeap;

// The original: five arguments as the function has them, whatever they are.
using AnyCall = uint64_t (*)(uint64_t, uint64_t, uint64_t, uint64_t, uint64_t);

struct HookSite {
  static constexpr uint32_t kMaxNameBytes = 48;

  std::atomic<uint64_t> target;  // relaxed: each value is right
  uint64_t address;              // of the function
  uint64_t size_bytes;
  uint64_t first;
  uint64_t fast;
  uint64_t always;
  uint64_t original;
  uint64_t gate;    // where slow paths jump to
  uint64_t filter;  // of samples: near, so that the fast path needs one register only
  InnerHeap* heap;
  AllocatorSignature signature;
  uint64_t stub;
  Refusal refusal;   // kNone: it is patched, or will be
  bool is_indirect;  // it is not, but calls another one that is
  bool is_left_out;  // it was tried, and gave nothing: its calls are not seen
  bool is_local;     // never called but as the program does (FunctionSymbol::is_local)
  // Of one that is not tried: calls in a row that came to other hooks, or to none.  Relaxed: a few more or less are as good.
  std::atomic<uint8_t> same_calls;
  uint8_t entry_bytes;   // before the jump
  uint8_t window_bytes;  // of instructions from the jump on, in whose place it is
  char name[kMaxNameBytes];

  AnyCall call() const { return reinterpret_cast<AnyCall>(original); }
};

// kPrepared: nothing is tried yet; a tracer that has stopped all threads makes kUntried of it (format/allocators/late_patches.h).
enum class InnerState : uint32_t { kUntried, kTrying, kSeen, kThroughMalloc, kRefused, kPrepared };

// An allocator of a module.
struct InnerHeap {
  static constexpr uint32_t kMaxNameBytes = 64;
  static constexpr uint32_t kMaxSites = 112;

  std::atomic<InnerState> state;  // acquire, release: whoever reads kSeen reads what the verification found
  const char* reason;             // of kRefused
  const char* culprit;            // the name of the function that it is about; nullptr: none
  char name[kMaxNameBytes];       // "jemalloc in polars.so"
  uint32_t id;                    // core/tables/heap_names.h; valid in kSeen
  uint32_t site_count;
  bool
      is_mallocs;  // these are more functions of the allocator behind malloc: blocks of one may go by the other
  bool is_known;  // a family whose functions are known; else it is not tried
  HookSite* sites;
  uint64_t usable_size;  // addresses of functions that are asked; 0: there are none
  uint64_t visit_heap;
  uint64_t default_heap;
  // Functions besides these that map its memory.
  struct Code {
    uint64_t start;
    uint64_t limit;
  };
  static constexpr uint32_t kMaxMapping = 8;
  uint32_t mapping_count;
  Code mapping[kMaxMapping];
  counts::Source counts;  // asked by threads that are in the module's code: it cannot be unloaded meanwhile
};

}  // namespace memprof::platform
