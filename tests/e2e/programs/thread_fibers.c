// SPDX-License-Identifier: Apache-2.0
// Coroutines of a thread, with stacks in one mapping below the thread's own: between a coroutine's stack pointer and the
// thread's stack lie many readable pages, and one that is not.
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "truth.h"

enum { kCoroutines = 16, kSwitches = 50, kStackBytes = 256 * 1024 };

static ucontext_t g_thread;
static ucontext_t g_coroutines[kCoroutines];
static int g_current;

SITE void* in_coroutine(void) {
  return keep(malloc(opaque(807)));
}

SITE void coroutine(void) {
  for (int i = 0; i < kSwitches; ++i) {
    free(in_coroutine());
    swapcontext(&g_coroutines[g_current], &g_thread);
  }
}

static void* run(void* stacks) {
  for (int i = 0; i < kCoroutines; ++i) {
    getcontext(&g_coroutines[i]);
    g_coroutines[i].uc_stack.ss_sp = (char*)stacks + (size_t)i * kStackBytes;
    g_coroutines[i].uc_stack.ss_size = kStackBytes;
    g_coroutines[i].uc_link = &g_thread;
    makecontext(&g_coroutines[i], coroutine, 0);
  }
  for (int round = 0; round <= kSwitches; ++round) {
    for (g_current = 0; g_current < kCoroutines; ++g_current)
      swapcontext(&g_thread, &g_coroutines[g_current]);
  }
  return NULL;
}

int main(void) {
  const size_t bytes = (size_t)kCoroutines * kStackBytes;
  const size_t own = 1 << 20;
  // The coroutines' stacks, a page that cannot be read, the thread's stack.
  char* all = mmap(NULL, bytes + 4096 + own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED || mprotect(all + bytes, 4096, PROT_NONE) != 0) die("mmap");
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstack(&attributes, all + bytes + 4096, own) != 0) die("pthread_attr_setstack");
  pthread_t thread;
  if (pthread_create(&thread, &attributes, run, all) != 0) die("pthread_create");
  pthread_join(thread, NULL);
  const uint64_t count = (uint64_t)kCoroutines * kSwitches;
  tell("in_coroutine", "coroutine", count, count * 807, 0, 0);
  return 0;
}
