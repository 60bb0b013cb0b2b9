// SPDX-License-Identifier: Apache-2.0
// capture_stack of the seam: by the unwind tables (x86-64), by frame pointers elsewhere and where there are
// none; within the bounds of the stack, code read through the kernel.
#include <dlfcn.h>
#include <pthread.h>

#include <atomic>

#include "core/levels.h"
#include "core/platform.h"
#include "platform/linux/elf_image.h"
#include "platform/linux/hook_section.h"
#include "platform/linux/safe_read.h"
#include "platform/linux/stack_bounds.h"
#include "unwind/frame_pointer.h"
#include "unwind/table_walk.h"

#if !defined(__x86_64__)
extern "C" int __libc_start_main(void) __attribute__((weak));
#endif

namespace memprof::platform {
namespace {

// Return addresses that were seen to follow a call, so that each costs system calls only once.  A
// direct-mapped cache of single words: a lost entry is asked for again.  An entry of a library that was
// unloaded meanwhile can let a wrong address pass, never a crash.
constexpr uint32_t kCallSites = 4096;
std::atomic<uint64_t> g_call_sites[kCallSites];

bool is_call_site(uint64_t return_address) {
  if (return_address < 4096 || return_address >> 56 != 0) {
    return false;
  }
  std::atomic<uint64_t>& cached = g_call_sites[mix_hash(return_address) % kCallSites];
  if (cached.load(std::memory_order_relaxed) == return_address) {
    return true;
  }
  uint8_t code[8 + 9];
  // The bytes after the address are only wanted for a signal trampoline, and may not be there.
  const bool both = read_memory(return_address - 8, code, sizeof(code));
  if (!both && !read_memory(return_address - 8, code, 8)) {
    return false;
  }
  if (!unwind::follows_call(code + 8) && !(both && unwind::is_signal_return(code + 8))) {
    return false;
  }
  cached.store(return_address, std::memory_order_relaxed);
  return true;
}

#if defined(__x86_64__)
const unwind::Surroundings kSurroundings{find_unwind_image, is_call_site, stack_bounds, is_hook_address};

// The registers that calls keep, and a place in the function that this is inlined into.
[[gnu::always_inline]] inline unwind::RegisterFile own_registers() {
  uint64_t v[unwind::kRegisters];
  asm volatile(
      "movq %%rbx, 0(%1)\n\tmovq %%rbp, 8(%1)\n\tmovq %%rsp, 16(%1)\n\tmovq %%r12, 24(%1)\n\t"
      "movq %%r13, 32(%1)\n\tmovq %%r14, 40(%1)\n\tmovq %%r15, 48(%1)\n\t"
      "leaq 0(%%rip), %%rcx\n\tmovq %%rcx, 56(%1)"
      : "=m"(v)
      : "a"(v)
      : "rcx");
  static_assert(unwind::kRbx == 0 && unwind::kRbp == 1 && unwind::kRsp == 2 && unwind::kR12 == 3 &&
                unwind::kR15 == 6 && unwind::kReturnAddress == 7);
  unwind::RegisterFile registers{};
  for (uint8_t r = 0; r < unwind::kRegisters; ++r) {
    registers.set(r, v[r]);
  }
  return registers;
}
#else
// The C library enters main from a function that it places right before __libc_start_main, and a thread's
// function from one right before pthread_create.  Neither has a name in a stripped library.
bool is_root(uint64_t return_address, uint64_t distance) {
  const auto near = [return_address](uint64_t function, uint64_t before) {
    return function != 0 && return_address < function + 512 && return_address + before > function;
  };
  constexpr uint64_t kStartFrames = 1024;
  constexpr uint64_t kThreadTop =
      16384;  // thread descriptor, static thread-local storage and start_thread's frame
  return (distance < kStartFrames && near(reinterpret_cast<uint64_t>(&__libc_start_main), 512)) ||
         (distance < kThreadTop && near(reinterpret_cast<uint64_t>(&pthread_create), 4096));
}

const unwind::Code kCode{is_call_site, is_root, is_hook_address};
#endif

}  // namespace

WalkResult capture_stack(const Entry& entry, uint64_t* frames, uint32_t max_depth) {
  const uint64_t frame = reinterpret_cast<uint64_t>(entry.frame_address);
#if defined(__x86_64__)
  // The hook keeps a frame pointer, so its caller's registers are known without a table.
  const uint64_t* saved = static_cast<const uint64_t*>(entry.frame_address);
  const unwind::Start start{saved[1], frame + 2 * sizeof(uint64_t), saved[0]};
  const unwind::StackBounds bounds = stack_bounds(frame);
  bool needs_all_registers = false;
  WalkResult result =
      unwind::walk_by_tables(start, bounds, kSurroundings, frames, max_depth, &needs_all_registers);
  if (needs_all_registers) {
    const unwind::RegisterFile registers = own_registers();
    // Our own frames lie below the hook's; nothing deeper than this one is read.
    const unwind::StackBounds all{registers.values[unwind::kRsp], bounds.high, bounds.grow};
    const WalkResult full =
        unwind::walk_with_all_registers(registers, start.sp, all, kSurroundings, frames, max_depth);
    // The second walk repeats the first up to the frame that stopped it; it never knows less.
    result = full.depth >= result.depth ? full : result;
  }
  return result;
#else
  return unwind::walk_frame_pointers(frame, stack_bounds(frame), kCode, frames, max_depth);
#endif
}

}  // namespace memprof::platform
