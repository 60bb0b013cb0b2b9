// SPDX-License-Identifier: Apache-2.0
// An allocator that changes few registers: a pool that gives nothing back.  Part of trusting_callers.cc, or a unit apart.
#include <cstddef>
#include <new>

namespace {
char g_pool[1 << 24];
size_t g_used = 64;
}  // namespace

void start_again() {
  g_used = 64;
}

// noinline, and as long as a jump: as allocators are.
__attribute__((noinline)) void* operator new(size_t bytes) {
  void* block = g_pool + g_used;
  g_used += (bytes + 15) & ~size_t{15};
  asm volatile("nop; nop; nop; nop; nop");
  return block;
}
__attribute__((noinline)) void operator delete(void* block) noexcept {
  asm volatile("nop; nop; nop; nop; nop" : : "r"(block));
}
__attribute__((noinline)) void operator delete(void* block, size_t) noexcept {
  asm volatile("nop; nop; nop; nop; nop" : : "r"(block));
}
