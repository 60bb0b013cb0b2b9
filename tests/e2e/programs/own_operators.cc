// SPDX-License-Identifier: Apache-2.0
// Replaces the two basic forms of new and delete, as the standard allows ([new.delete]): the other forms call them.
// Blocks come from a pool, and a block that is not of it is the end.
//   MALLOC       they are malloc's instead, and counted
//   ONLY_DELETE  new is not replaced
//   OWN_MALLOC   the program has a malloc, too, which serves blocks of the pool
//   ALIGNED      the aligned ones are replaced, too, by blocks of the pool
//   PLUGIN       a library with plugin_work() (local_plugin.c)
// Arguments: nothing, or "loop": says "ready" and goes on until its standard input ends.
#include <poll.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wsized-deallocation"  // that is the point
#endif
#define SITE __attribute__((noinline, visibility("default")))

namespace {

[[maybe_unused]] alignas(64) char g_pool[1 << 22];
[[maybe_unused]] size_t g_used = 64;
unsigned long g_taken;
unsigned long g_ended;

[[maybe_unused]] bool is_mine(const void* block) {
  return static_cast<const char*>(block) >= g_pool &&
         static_cast<const char*>(block) < g_pool + sizeof g_pool;
}

// The pool is used again; its blocks do not live long.
[[maybe_unused]] void* take(size_t size) {
  if (g_used + size + 64 > sizeof g_pool) g_used = 64;
  char* const block = g_pool + g_used + 16;
  memcpy(block - sizeof size, &size, sizeof size);
  g_used += ((size + 15) & ~size_t{15}) + 16;
  return block;
}

}  // namespace

#if defined(OWN_MALLOC)
extern "C" {
__attribute__((noinline)) void* malloc(size_t size) {
  return take(size);
}
__attribute__((noinline)) void free(void* block) {
  if (block != nullptr && !is_mine(block)) abort();
}
__attribute__((noinline)) void* calloc(size_t count, size_t size) {
  return memset(take(count * size), 0, count * size);
}
__attribute__((noinline)) void* realloc(void* block, size_t size) {
  void* moved = take(size);
  size_t old = 0;
  if (block != nullptr) memcpy(&old, static_cast<char*>(block) - sizeof old, sizeof old);
  return memcpy(moved, block != nullptr ? block : moved, old < size ? old : size);
}
}
#endif

#if !defined(ONLY_DELETE)
SITE void* operator new(size_t size) {
  ++g_taken;
#if defined(MALLOC) || defined(OWN_MALLOC)
  if (void* block = malloc(size)) return block;
  throw std::bad_alloc();
#else
  return take(size);
#endif
}
#endif

SITE void operator delete(void* block) noexcept {
  g_ended += block != nullptr;
#if defined(MALLOC) || defined(ONLY_DELETE) || defined(OWN_MALLOC)
  free(block);
#else
  if (block != nullptr && !is_mine(block)) {
    fputs("a block that is not of this pool\n", stderr);
    abort();
  }
#endif
}

#if defined(ALIGNED)
SITE void* operator new(size_t size, std::align_val_t) {
  g_used = ((g_used + 63) & ~size_t{63}) + 48;  // take() adds 16
  return take(size);
}
SITE void operator delete(void* block, std::align_val_t) noexcept {
  if (!is_mine(block)) abort();
}
#endif

namespace {

struct Big {
  int numbers[20];
};
struct Counted {
  ~Counted() { asm volatile(""); }
  int numbers[3];
};

// Each form that ends in one of the two, 3 blocks of 4001 bytes among them.
SITE void all_forms() {
  Big* volatile big = new Big;
  delete big;
  Counted* volatile array = new Counted[5];
  delete[] array;
  int* volatile number = new (std::nothrow) int(1);
  delete number;
  int* volatile numbers = new (std::nothrow) int[9];
  delete[] numbers;
  void* volatile raw = ::operator new(4001);
  ::operator delete(raw);
  raw = ::operator new(4001, std::nothrow);
  ::operator delete(raw, std::nothrow);
  raw = ::operator new[](4001);
  ::operator delete[](raw, size_t{4001});
#if defined(ALIGNED)
  raw = ::operator new(100, std::align_val_t{64});
  ::operator delete(raw, size_t{100}, std::align_val_t{64});
#endif
}
constexpr unsigned long kBlocks = 7;

// Not less: an allocator that is hooked is tried, too (docs/decisions/0076).
bool is_right(unsigned long rounds) {
  return g_ended >= rounds * kBlocks && (g_taken == 0 || g_taken >= rounds * kBlocks);
}

}  // namespace

#if defined(PLUGIN)
extern "C" SITE int plugin_work() {
  all_forms();
  return is_right(1) ? 0 : 1;
}
#else
int main(int argc, char**) {
  if (argc == 1) {
    for (int i = 0; i < 100; ++i) all_forms();
    printf("taken %lu, ended %lu\n", g_taken, g_ended);
    return is_right(100) ? 0 : 1;
  }
  setvbuf(stdout, nullptr, _IONBF, 0);
  puts("ready");
  unsigned long rounds = 0;
  for (pollfd input{0, POLLIN, 0}; poll(&input, 1, 1) == 0; ++rounds) {
    all_forms();
    free(malloc(1000));
  }
  puts(is_right(rounds) ? "ok" : "blocks did not come to their delete");
  return 0;
}
#endif
