// SPDX-License-Identifier: Apache-2.0
// The caller of a function of an x86-64 image, by its unwind information: what RtlVirtualUnwind does, without its lookups.
//
// Model: a function's prolog is undone from its end, as far as it had run.  An epilog needs no rule: a return address lies
// behind a call, and where only an epilog follows it, undoing the prolog gives the same.
// Threads: no state.  Allocates: never.
// Failure: an Ending; no word outside of [low, high) is read as stack.
#pragma once

#include <cstdint>

#include "platform/stack.h"
#include "platform/windows/modules/pe_image.h"

namespace memprof::platform {

enum : uint32_t {
  kRbp = 5,
  kRsp = 4
};  // as unwind information numbers them: rax rcx rdx rbx rsp rbp rsi rdi r8 ...
struct FrameRegisters {
  uint64_t ip;
  uint64_t words[16];
};

enum class Step : uint8_t { kDone, kLeftStack, kUnknown };

// From the frame of `function`, which `registers->ip` lies in, to its caller's.  `image`: where the module is loaded.
Step unwind_function(uint64_t image, const FunctionRange& function, const StackRange& bounds,
                     FrameRegisters* registers);

}  // namespace memprof::platform
