// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/memory/stack_bounds.h"

#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <atomic>

#include "core/sampling/sampler.h"
#include "format/hash.h"
#include "platform/linux/libc/c_library.h"
#include "platform/linux/memory/system_call.h"
#include "platform/memory_areas.h"
#include "platform/object_format.h"
#include "platform/process.h"
#include "platform/stack.h"

namespace memprof::platform {
namespace {

// A foreign stack is asked for in steps of so many pages, up from the stack pointer.
constexpr uint64_t kForeignPages = 4;
// A stack pointer further than this below the end that we suppose is not on that stack.
constexpr uint64_t kLargestStack = uint64_t{1} << 30;
// Pages that one sample asks for at most: 2048 are the usual 8 MiB of a main thread.
constexpr uint64_t kMaxPages = 16384;
// What is remembered of foreign stacks, in stretches of so many bytes: sets of marks, the newest first.
constexpr uint64_t kStretch = uint64_t{64} << 10;
constexpr uint32_t kSets = 256;
constexpr uint32_t kWays = 8;
std::atomic<uint64_t> g_foreign[kSets][kWays];

struct Remembered {
  uint64_t low;
  uint64_t high;
};

__thread Remembered t_stack MEMPROF_TLS_MODEL;

uint64_t page_of(uint64_t address) {
  return address & ~(kSmallestPage - 1);
}

// How far up from `low` the memory is readable without a gap, `high` at most.
uint64_t readable_up_to(uint64_t low, uint64_t high) {
  for (uint64_t page = page_of(low); page < high; page += kSmallestPage) {
    if (!is_readable(page)) {
      return page < low ? low : page;
    }
  }
  return high;
}

// Of a stretch, and of the thread's own stack that it does not reach.
uint64_t foreign_mark(uint64_t stretch, uint64_t own_end) {
  return mix_hash(stretch / kStretch ^ own_end << 16);
}

bool is_foreign(uint64_t mark) {
  const auto& set = g_foreign[mark % kSets];
  for (const std::atomic<uint64_t>& way : set) {
    if (way.load(std::memory_order_relaxed) == mark) {
      return true;
    }
  }
  return false;
}

void note_foreign(uint64_t mark) {
  auto& set = g_foreign[mark % kSets];
  for (uint32_t i = kWays - 1; i > 0; --i) {
    set[i].store(set[i - 1].load(std::memory_order_relaxed), std::memory_order_relaxed);
  }
  set[0].store(mark, std::memory_order_relaxed);
}

// Is all memory from `low` up to `high` readable, which is a part of the thread's own stack, whose end is `own_end`?
bool reaches(uint64_t low, uint64_t high, uint64_t own_end) {
  if (is_foreign(foreign_mark(low, own_end))) {
    return false;
  }
  const uint64_t gap = readable_up_to(low, high);
  if (gap == high) {
    return true;
  }
  for (uint64_t stretch = low / kStretch * kStretch; stretch < gap; stretch += kStretch) {
    const uint64_t mark = foreign_mark(stretch, own_end);
    if (!is_foreign(mark)) {
      note_foreign(mark);
    }
  }
  return false;
}

uint64_t supposed_end(uint64_t stack_pointer) {
  uint64_t end;
  if (thread_id() == process_id()) {
    end = libc::main_stack_end();
  } else {
    end = reinterpret_cast<uint64_t>(&t_stack);
  }
  return stack_pointer < end && end - stack_pointer < kLargestStack ? end : 0;
}

// The dearer way to ask, for a sandbox that refuses the first.
bool is_byte_copied(uint64_t address) {
  char byte;
  iovec to{&byte, 1};
  iovec from{reinterpret_cast<void*>(address), 1};
  return process_vm_readv(static_cast<pid_t>(process_id()), &to, 1, &from, 1, 0) == 1;
}

uint64_t grow_foreign(uint64_t high) {
  return high % kSmallestPage != 0 ? high : readable_up_to(high, high + kForeignPages * kSmallestPage);
}

}  // namespace

uint64_t stack_left(uint64_t stack_pointer) {
  if ((stack_pointer >= t_stack.low && stack_pointer < t_stack.high) || is_sandboxed()) {
    return UINT64_MAX;
  }
  const int saved_errno = errno;
  stack_t stack{};
  // Not by libc's function, which is hooked: the less of the stack this takes, the better.
  const bool is_known = system_call(SYS_sigaltstack, 0, reinterpret_cast<long>(&stack), 0, 0, 0, 0) == 0 &&
                        (stack.ss_flags & SS_ONSTACK) != 0;
  errno = saved_errno;
  const uint64_t low = reinterpret_cast<uint64_t>(stack.ss_sp);
  return is_known && stack_pointer >= low ? stack_pointer - low : UINT64_MAX;
}

bool is_on_signal_stack() {
  return stack_left(reinterpret_cast<uint64_t>(__builtin_frame_address(0))) != UINT64_MAX;
}

bool is_readable(uint64_t address) {
  if (is_sandboxed()) {
    return false;
  }
  // The kernel copies the new mask in before it looks at `how`: EFAULT where it cannot, EINVAL because ~0 is
  // no `how`; nothing is changed either way.  Without a mask it copies nothing and succeeds.
  const int saved_errno = errno;
  const long result = syscall(SYS_rt_sigprocmask, ~0, address, nullptr, 8);
  const bool refused = result != 0 && errno != EINVAL && errno != EFAULT;
  const bool readable = refused ? is_byte_copied(address) : result != 0 && errno == EINVAL;
  errno = saved_errno;
  return readable;
}

unwind::StackBounds stack_bounds(uint64_t stack_pointer) {
  const uint64_t low = t_stack.low;
  const uint64_t high = t_stack.high;
  if (stack_pointer >= low && stack_pointer < high) {
    return {stack_pointer, high, nullptr};
  }
  const uint64_t from = page_of(stack_pointer);
  if (is_sandboxed()) {
    // Nothing can be asked: what the thread is using is there, and where it ends is not known.
    return {stack_pointer, from + kSmallestPage, grow_foreign};
  }
  if (high != 0 && stack_pointer < low && low - from <= kMaxPages * kSmallestPage &&
      reaches(from, low, high)) {
    t_stack.low = from;
    return {stack_pointer, high, nullptr};
  }
  if (high == 0) {
    const uint64_t end = supposed_end(stack_pointer);
    if (end != 0 && end - from <= kMaxPages * kSmallestPage && reaches(from, end, end)) {
      t_stack.low = from;
      t_stack.high = end;
      return {stack_pointer, end, nullptr};
    }
  }
  return {stack_pointer,
          readable_up_to(stack_pointer, page_of(stack_pointer) + kForeignPages * kSmallestPage),
          grow_foreign};
}

// On the thread's own stack what lies below a frame that runs is gone.  A signal stack may be a part of it.
bool is_frame_gone(uint64_t frame, uint64_t here) {
  stack_bounds(here);
  stack_bounds(frame);
  if (frame > here || frame < t_stack.low || here >= t_stack.high) {
    return false;
  }
  const int saved_errno = errno;
  stack_t other{};
  const bool is_known = syscall(SYS_sigaltstack, nullptr, &other) == 0;
  errno = saved_errno;
  const uint64_t low = reinterpret_cast<uint64_t>(other.ss_sp);
  const auto is_there = [&](uint64_t address) { return low <= address && address - low < other.ss_size; };
  return is_known && ((other.ss_flags & SS_DISABLE) != 0 || (!is_there(frame) && !is_there(here)));
}

}  // namespace memprof::platform
