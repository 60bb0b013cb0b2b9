// SPDX-License-Identifier: Apache-2.0
// Moves the first instructions of a function elsewhere, so that a jump can take their place.
//
// Model: the window is what a jump of 5 bytes overwrites, in whole instructions; an `endbr64` in front of it stays.  The
// copy does what the window did: displacements from the instruction pointer and targets of jumps are computed anew; it
// ends in a jump behind the window.  Nothing may come into the window but from its beginning.
//     function   [endbr64] window ........ rest          function   [endbr64] jmp hook ... rest
//                          `------- moved ------>  copy   window' jmp rest
//
// Threads: any.
// Allocates: never.
// Failure: a Refusal, and nothing is to be used of the copy.
#pragma once

#include <cstddef>
#include <cstdint>

namespace memprof::platform {

enum class Refusal : uint8_t {
  kNone,
  kUnsupported,  // no processor that this is written for
  kShort,        // the function ends before a jump has room, and more than padding follows
  kUnreadable,   // an instruction that the decoder does not know
  kCall,         // a call in the window: its return address would lie in the copy
  kLoop,         // loop, jrcxz: they reach 127 bytes
  kJumpInto,     // a jump of the function into its window
  kFar,          // what the window refers to is more than 2 GiB from the copy
  kChanged,      // the code in memory is not the file's
  kLocal,        // its compiler knew all callers, and may have left out arguments that are read here
  kAcrossPages,  // the jump would lie in two pages: where a tracer writes it, it would not be written at once
};
const char* refusal_text(Refusal refusal);

inline constexpr size_t kJumpBytes = 5;
inline constexpr size_t kMaxWindowBytes = kJumpBytes + 14;
// A window of two-byte jumps grows most.
inline constexpr size_t kMaxCopyBytes = 48;

struct Relocation {
  Refusal refusal = Refusal::kNone;
  uint32_t entry_bytes = 0;   // in front of the window: an endbr64, or nothing
  uint32_t window_bytes = 0;  // of instructions; the jump overwrites the first kJumpBytes of it
  uint32_t copy_bytes = 0;
  uint8_t copy[kMaxCopyBytes] = {};
};

// Of the function whose code is `code`, `size_bytes` long (as its symbol says), and runs at `address`, for a copy that will
// run at `copy_address`.  May read kMaxWindowBytes behind a short function, which has to be readable.
Relocation relocate(const uint8_t* code, size_t size_bytes, uint64_t address, uint64_t copy_address);

// Does the function jump to, or call, an address that is in `targets`?
bool reaches(const uint8_t* code, size_t size_bytes, uint64_t address, const uint64_t* targets,
             size_t target_count);

}  // namespace memprof::platform
