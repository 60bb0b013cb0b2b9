// SPDX-License-Identifier: Apache-2.0
// A signal handler that allocates on a stack of its own, of as many bytes as the argument says, and says how
// many it used: of the stack, and of what was left to it when it was called.
#include <signal.h>
#include <sys/mman.h>

#include "truth.h"

enum { kRounds = 50, kPaint = 0xa5, kMaxFrames = 20 };

static unsigned char* g_stack;
static void* g_block;
static volatile uintptr_t g_handler;

SITE void handler_leaf(void) {
  free(g_block);
  g_block = keep(malloc(opaque(601)));
}

SITE void handler_deep(int depth) {
  if (depth > 0) {
    handler_deep(depth - 1);
  } else {
    handler_leaf();
  }
  __asm__ volatile("");
}

static void on_signal(int signal) {
  (void)signal;
  char here;
  g_handler = (uintptr_t)&here;
  handler_deep(kMaxFrames);
}

int main(int argc, char** argv) {
  const size_t size = argc > 1 ? (size_t)atol(argv[1]) : 8192;
  // Below it nothing is mapped: one byte too many is the end.
  unsigned char* const area = mmap(NULL, 65536 + size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (area == MAP_FAILED || mprotect(area + 65536, size, PROT_READ | PROT_WRITE) != 0) die("mmap");
  g_stack = area + 65536;
  memset(g_stack, kPaint, size);
  const stack_t stack = {.ss_sp = g_stack, .ss_size = size, .ss_flags = 0};
  struct sigaction action;
  memset(&action, 0, sizeof action);
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK;
  if (sigaltstack(&stack, NULL) != 0 || sigaction(SIGUSR1, &action, NULL) != 0) die("sigaltstack");
  for (int i = 0; i < kRounds; ++i) raise(SIGUSR1);
  size_t untouched = 0;
  while (untouched < size && g_stack[untouched] == kPaint) ++untouched;
  fprintf(stderr, "of the stack %zu, of the handler %zu\n", size - untouched,
          (size_t)(g_handler - (uintptr_t)(g_stack + untouched)));
  tell("handler_leaf", "handler_deep<handler_deep", kRounds, kRounds * 601, 1, 601);
  return 0;
}
