// SPDX-License-Identifier: Apache-2.0
// A timer's handler that allocates and frees while the main program does: in the middle of hooks and slow
// paths. Runs with bump_allocator behind it, which a handler may call; the handler runs on the thread's stack
// or, with an argument, on one of its own.
#include <signal.h>
#include <sys/time.h>

#include "truth.h"

enum { kHandlerBlock = 160, kMainBlock = 96, kSignals = 2000 };

static volatile sig_atomic_t g_signals;
static uint64_t g_blocks;

SITE void* in_handler(void) {
  return keep(malloc(opaque(kHandlerBlock)));
}
SITE void* in_main(void) {
  return keep(malloc(opaque(kMainBlock)));
}

static void handle(int signal) {
  (void)signal;
  void* block = in_handler();
  memset(block, 1, kHandlerBlock);
  free(block);
  ++g_signals;
}

int main(int argc, char** argv) {
  (void)argv;
  static char stack_memory[256 * 1024];
  const stack_t stack = {.ss_sp = stack_memory, .ss_size = sizeof(stack_memory)};
  struct sigaction action = {.sa_handler = handle, .sa_flags = SA_RESTART};
  if (argc > 1) {
    if (sigaltstack(&stack, NULL) != 0) die("sigaltstack");
    action.sa_flags |= SA_ONSTACK;
  }
  sigaction(SIGALRM, &action, NULL);
  const struct itimerval often = {{0, 100}, {0, 100}};
  setitimer(ITIMER_REAL, &often, NULL);
  while (g_signals < kSignals) {
    free(in_main());
    free(realloc(in_main(), opaque(kMainBlock)));
    g_blocks += 2;
  }
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &never, NULL);
  printf("handler_blocks %d\n", (int)g_signals);
  tell("in_main", "main", g_blocks, g_blocks * kMainBlock, 0, 0);
  return 0;
}
