// SPDX-License-Identifier: Apache-2.0
// A program that counts the calls of its own operators and prints how many there were: `counting_operators COUNT`.  With -DPOOL
// they cut blocks from a pool, else they call malloc.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <new>

namespace {
long g_news, g_deletes;
#if defined(POOL)
char g_pool[1 << 24];
size_t g_used = 64;
#endif
}  // namespace

__attribute__((noinline)) void* operator new(size_t bytes) {
  ++g_news;
#if defined(POOL)
  void* block = g_pool + g_used;
  g_used += (bytes + 15) & ~size_t{15};
#else
  void* block = std::malloc(bytes);
#endif
  if (block == nullptr) {
    std::abort();
  }
  return block;
}
__attribute__((noinline)) void operator delete(void* block) noexcept {
  ++g_deletes;
#if !defined(POOL)
  std::free(block);
#else
  asm volatile("nop; nop; nop; nop" : : "r"(block));
#endif
}
__attribute__((noinline)) void operator delete(void* block, size_t) noexcept {
  ++g_deletes;
#if !defined(POOL)
  std::free(block);
#else
  asm volatile("nop; nop; nop; nop" : : "r"(block));
#endif
}

struct Big {
  int v[20];
};

int main(int count, char** arguments) {
  const int blocks = count > 1 ? std::atoi(arguments[1]) : 1;
  for (int i = 0; i < blocks; ++i) {
    Big* volatile big = new Big;
    delete big;
  }
  std::printf("%ld %ld\n", g_news, g_deletes);
}
