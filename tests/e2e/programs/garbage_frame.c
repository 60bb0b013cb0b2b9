// SPDX-License-Identifier: Apache-2.0
// Calls malloc with all kinds of values in the frame pointer register, as code compiled without frame
// pointers does: random ones, kernel addresses, the edges of the stack, loops, unmapped pages.
#include <sys/mman.h>

#include "truth.h"

enum { kRandom = 20000 };

// malloc(size) with `frame` in the register.
SITE void* with_frame(size_t size, uint64_t frame) {
  void* block;
#if defined(__x86_64__)
  // Calls may use the red zone of nobody: step over it, and keep the stack aligned.
  __asm__ volatile(
      "push %%rbp\n\t"
      "mov %%rsp, %%rbx\n\t"
      "sub $256, %%rsp\n\t"
      "and $-16, %%rsp\n\t"
      "mov %[frame], %%rbp\n\t"
      "call malloc@PLT\n\t"
      "mov %%rbx, %%rsp\n\t"
      "pop %%rbp\n\t"
      : "=a"(block), "+D"(size)
      : [frame] "r"(frame)
      : "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "memory", "cc", "xmm0", "xmm1", "xmm2", "xmm3");
#elif defined(__aarch64__)
  register size_t argument __asm__("x0") = size;
  __asm__ volatile(
      "mov x19, x29\n\t"
      "mov x29, %[frame]\n\t"
      "bl malloc\n\t"
      "mov x29, x19\n\t"
      : "+r"(argument)
      : [frame] "r"(frame)
      : "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
        "x17", "x18", "x19", "x30", "memory", "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v16",
        "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
        "v31");
  block = (void*)argument;
#else
#error "this processor's frame pointer register is not known here"
#endif
  return keep(block);
}

static uint64_t g_random = 88172645463325252ull;

static uint64_t next_random(void) {
  g_random ^= g_random << 13;
  g_random ^= g_random >> 7;
  g_random ^= g_random << 17;
  return g_random;
}

int main(void) {
  uint64_t words[64];
  const uint64_t here = (uint64_t)&words[0];
  // Frames that point at themselves, at each other, and down.
  for (int i = 0; i < 64; i += 2) {
    words[i] = (uint64_t)&words[(i + 62) % 64];
    words[i + 1] = next_random();
  }
  words[0] = here;
  char* page = mmap(NULL, 3 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED || mprotect(page + 4096, 4096, PROT_NONE) != 0) die("mmap");
  const uint64_t values[] = {0,
                             1,
                             8,
                             16,
                             4095,
                             4096,
                             ~0ull,
                             ~7ull,
                             ~15ull,
                             1ull << 63,
                             1ull << 47,
                             0xffffffff81000000ull,
                             0x7fffffffffffull,
                             0x7ffffffffff8ull,
                             0x7ffffffff000ull,
                             0x00007ffffffff000ull - 8,
                             here,
                             here + 1,
                             here + 8,
                             here - 8,
                             here - 128,
                             here - 4096,
                             here + (8 << 20),
                             here + (1 << 12),
                             here & ~4095ull,
                             (here & ~4095ull) + 4088,
                             (uint64_t)page,
                             (uint64_t)page + 4088,
                             (uint64_t)page + 4096,
                             (uint64_t)page + 4080,
                             (uint64_t)&main,
                             (uint64_t)&g_random,
                             (uint64_t)&malloc,
                             (uint64_t)stdout};
  uint64_t count = 0;
  for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); ++i) {
    for (int shift = -24; shift <= 24; shift += 4) {
      free(with_frame(900, values[i] + shift));
      ++count;
    }
  }
  for (int i = 0; i < kRandom; ++i, ++count) {
    uint64_t value = next_random();
    if (i % 4 == 1) value = here + (value % (1 << 20)) - (1 << 19);
    if (i % 4 == 2) value = (here + (value % (1 << 16)) - (1 << 15)) & ~7ull;
    if (i % 4 == 3) value &= 0x7fffffffffffull;
    free(with_frame(900, value));
  }
  tell("with_frame", "-", count, count * 900, 0, 0);
  return 0;
}
