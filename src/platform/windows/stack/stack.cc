// SPDX-License-Identifier: Apache-2.0
// The walk of a stack (platform/stack.h), by the unwind information of the modules that are loaded.
//
// Model: from this function's own frame outwards.  The frames of the library at the leaf's end are left out, so it need not
// be known which of them a hook is.  Code that is in no module (a program compiles it while it runs) ends the walk.
// Threads: no state.  Allocates: never.
#include "platform/stack.h"

#include "platform/windows/modules/module_list.h"
#include "platform/windows/stack/callers.h"
#include "platform/windows/stack/unwind_info.h"
#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

StackRange own_stack() {
  return {thread_block_word(kStackAllocation), thread_block_word(kStackBase)};
}

struct Frames {
  const KnownModule* own;  // this library, or the program that it is linked into
  const KnownModule* module;
  FrameRegisters registers;
};

// The registers are those of the caller's: what is inlined there runs in its frame.
[[gnu::always_inline]] inline void read_registers(FrameRegisters* r) {
  asm volatile(
      "leaq 0(%%rip), %%rax\n\tmovq %%rax, (%0)\n\tmovq %%rbx, 32(%0)\n\tmovq %%rsp, 40(%0)\n\tmovq %%rbp, 48(%0)\n\t"
      "movq %%rsi, 56(%0)\n\tmovq %%rdi, 64(%0)\n\tmovq %%r12, 104(%0)\n\tmovq %%r13, 112(%0)\n\tmovq %%r14, 120(%0)\n\t"
      "movq %%r15, 128(%0)"
      :
      : "r"(r)
      : "rax", "memory");
}

// Every thread begins in RtlUserThreadStart: what lies beyond its frame is no stack.
bool is_first_function(const KnownModule& module, const FunctionRange& function) {
  return module.image.start() + function.begin == thread_start_function();
}

// To the caller of the frame; kRoot: there is none.
Walk step(const StackRange& bounds, Frames* f) {
  FrameRegisters& r = f->registers;
  const auto offset = static_cast<uint32_t>(r.ip - f->module->image.start());
  const FunctionRange* function =
      find_function(f->module->image.functions(), f->module->image.function_count(), offset);
  if (function == nullptr) {
    return Walk::kNoRule;
  }
  if (is_first_function(*f->module, *function)) {
    return Walk::kRoot;
  }
  switch (unwind_function(f->module->image.start(), *function, bounds, &r)) {
    case Step::kLeftStack:
      return Walk::kLeftStack;
    case Step::kUnknown:
      return Walk::kBadFrame;
    case Step::kDone:
      break;
  }
  // A return address may be behind the end of its function, where that ends in a call.
  f->module = r.ip != 0 ? module_at(r.ip - 1) : nullptr;
  return r.ip != 0 ? Walk::kDepthLimit : Walk::kRoot;
}

// Calls visit(return address) from the leaf to the root, while it returns true.
template <typename Visit>
[[gnu::always_inline]] inline Walk walk(const Visit& visit) {
  Frames f;
  read_registers(&f.registers);
  const StackRange bounds = own_stack();
  f.module = f.own = module_at(f.registers.ip);
  bool is_inside = true;
  while (f.module != nullptr) {
    const Walk ended = step(bounds, &f);
    if (ended != Walk::kDepthLimit) {
      return ended;
    }
    is_inside = is_inside && f.module == f.own;
    if (!is_inside && !visit(f.registers.ip)) {
      return Walk::kDepthLimit;
    }
    f.registers.ip -= f.module != nullptr ? 1 : 0;  // the call, whose prolog has run as far as that
  }
  return Walk::kNoRule;
}

constexpr uint32_t kLookedAt = 64;

}  // namespace

bool is_frame_gone(uint64_t frame, uint64_t here) {
  return own_stack().is_gone(frame, here);
}

bool has_stack_for_walk(const Entry&, size_t more_bytes) {
  constexpr uint64_t kWalkBytes = 24 * 1024;
  const uint64_t here = address_of(__builtin_frame_address(0));
  const StackRange bounds = own_stack();
  return here < bounds.low || here > bounds.high || here - bounds.low > kWalkBytes + more_bytes;
}

bool is_on_signal_stack() {
  return false;
}

[[gnu::noinline]] WalkResult capture_stack(const Entry&, uint64_t* frames, uint32_t max_depth) {
  uint32_t depth = 0;
  const Walk reason = walk([&](uint64_t address) {
    if (depth == max_depth) {
      return false;
    }
    frames[depth++] = address;
    return true;
  });
  return {depth, reason};
}

[[gnu::noinline]] bool may_be_called_by(const Entry&, const KnownCode& code) {
  uint32_t left = kLookedAt;
  bool is_found = false;
  const Walk reason = walk([&](uint64_t address) {
    is_found = code.contains(code.owner, address - 1);
    return !is_found && --left != 0;
  });
  return is_found || reason != Walk::kRoot;
}

[[gnu::noinline]] bool is_called_by(const Entry&, const KnownCode& code) {
  uint32_t left = kLookedAt;
  bool is_found = false;
  walk([&](uint64_t address) {
    is_found = code.contains(code.owner, address - 1);
    return !is_found && --left != 0;
  });
  return is_found;
}

[[gnu::noinline]] bool is_called_within(uint64_t start, uint64_t limit, const KnownCode& code) {
  bool is_found = false;
  walk([&](uint64_t address) {
    is_found = code.contains(code.owner, address - 1);
    return !is_found && start <= address && address < limit;
  });
  return is_found;
}

void forget_code() {}

}  // namespace memprof::platform
