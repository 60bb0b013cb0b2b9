// SPDX-License-Identifier: Apache-2.0
// Coroutines (makecontext) that allocate on stacks of their own: from malloc, and from mmap with nothing above.
//   coroutines thread   those of a thread, in one mapping below the thread's own stack: between a coroutine's stack pointer
//                       and that stack lie many readable pages, and one that is not
#include <pthread.h>
#include <sys/mman.h>
#include <ucontext.h>

#include "truth.h"

enum { kCoroutines = 100, kSwitches = 20, kStackBytes = 64 * 1024 };

static ucontext_t g_main;
static ucontext_t g_coroutines[kCoroutines];
static int g_current;

SITE void* in_coroutine(void) {
  return keep(malloc(opaque(807)));
}

SITE void coroutine(void) {
  for (int i = 0; i < kSwitches; ++i) {
    free(in_coroutine());
    void* across = in_coroutine();
    swapcontext(&g_coroutines[g_current], &g_main);
    free(across);
  }
}

static void run(void* const* stacks) {
  for (int i = 0; i < kCoroutines; ++i) {
    getcontext(&g_coroutines[i]);
    g_coroutines[i].uc_stack.ss_sp = stacks[i];
    g_coroutines[i].uc_stack.ss_size = kStackBytes;
    g_coroutines[i].uc_link = &g_main;
    makecontext(&g_coroutines[i], coroutine, 0);
  }
  for (int round = 0; round <= kSwitches; ++round) {
    for (g_current = 0; g_current < kCoroutines; ++g_current) swapcontext(&g_main, &g_coroutines[g_current]);
  }
}

static void run_here(void) {
  void* stacks[kCoroutines];
  for (int i = 0; i < kCoroutines; ++i) {
    if (i % 2 == 0) {
      stacks[i] = malloc(kStackBytes);
    } else {
      // The page above the stack is not there.
      char* pages =
          mmap(NULL, kStackBytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      if (pages == MAP_FAILED || munmap(pages + kStackBytes, 4096) != 0) die("mmap");
      stacks[i] = pages;
    }
  }
  run(stacks);
  for (int i = 0; i < kCoroutines; ++i) {
    if (i % 2 == 0) {
      free(stacks[i]);
    } else {
      munmap(stacks[i], kStackBytes);
    }
  }
}

static void* run_below(void* all) {
  void* stacks[kCoroutines];
  for (int i = 0; i < kCoroutines; ++i) stacks[i] = (char*)all + (size_t)i * kStackBytes;
  run(stacks);
  return NULL;
}

static void run_in_a_thread(void) {
  const size_t bytes = (size_t)kCoroutines * kStackBytes;
  const size_t own = 1 << 20;
  char* all = mmap(NULL, bytes + 4096 + own, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (all == MAP_FAILED || mprotect(all + bytes, 4096, PROT_NONE) != 0) die("mmap");
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  if (pthread_attr_setstack(&attributes, all + bytes + 4096, own) != 0) die("pthread_attr_setstack");
  pthread_t thread;
  if (pthread_create(&thread, &attributes, run_below, all) != 0) die("pthread_create");
  pthread_join(thread, NULL);
}

int main(int argc, char** argv) {
  (void)argv;
  argc > 1 ? run_in_a_thread() : run_here();
  const uint64_t count = 2ull * kCoroutines * kSwitches;
  tell("in_coroutine", "coroutine", count, count * 807, 0, 0);
  return 0;
}
