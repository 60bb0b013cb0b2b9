// SPDX-License-Identifier: Apache-2.0
// capture_stack of the seam: frame pointers within the bounds of the stack, code read through the kernel.
#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

#include "core/levels.h"
#include "core/platform.h"
#include "platform/linux/hook_section.h"
#include "platform/linux/stack_bounds.h"
#include "unwind/frame_pointer.h"

extern "C" int __libc_start_main(void) __attribute__((weak));

namespace memprof::platform {
namespace {

// Return addresses that were seen to follow a call, so that each costs system calls only once.  A
// direct-mapped cache of single words: a lost entry is asked for again.  An entry of a library that was
// unloaded meanwhile can let a wrong address pass, never a crash.
constexpr uint32_t kCallSites = 4096;
std::atomic<uint64_t> g_call_sites[kCallSites];

// Reads code without a fault whatever the address is.
bool read_code(uint64_t address, uint8_t* bytes, size_t size_bytes) {
  iovec to{bytes, size_bytes};
  iovec from{reinterpret_cast<void*>(address), size_bytes};
  const int saved_errno = errno;
  const ssize_t got = process_vm_readv(static_cast<pid_t>(process_id()), &to, 1, &from, 1, 0);
  const bool refused = got < 0 && (errno == ENOSYS || errno == EPERM || errno == EACCES);
  errno = saved_errno;
  if (refused && is_readable(address) && is_readable(address + size_bytes - 8)) {
    // A sandbox without process_vm_readv.  Code stays where it is while a thread returns to it.
    __builtin_memcpy(bytes, reinterpret_cast<const void*>(address), size_bytes);
    return true;
  }
  return got == static_cast<ssize_t>(size_bytes);
}

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
  const bool both = read_code(return_address - 8, code, sizeof(code));
  if (!both && !read_code(return_address - 8, code, 8)) {
    return false;
  }
  if (!unwind::follows_call(code + 8) && !(both && unwind::is_signal_return(code + 8))) {
    return false;
  }
  cached.store(return_address, std::memory_order_relaxed);
  return true;
}

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

}  // namespace

WalkResult capture_stack(const Entry& entry, uint64_t* frames, uint32_t max_depth) {
  const uint64_t frame = reinterpret_cast<uint64_t>(entry.frame_address);
  return unwind::walk_frame_pointers(frame, stack_bounds(frame), kCode, frames, max_depth);
}

}  // namespace memprof::platform
