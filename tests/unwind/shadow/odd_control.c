// SPDX-License-Identifier: Apache-2.0
// Allocates where the stack was not made by calls alone: in signal handlers, also nested ones, and after
// longjmp out of them and out of deep recursion.
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>

static sigjmp_buf g_back;
static volatile int g_sink;

__attribute__((noinline)) static void allocate(int n) {
  for (int i = 0; i < n; ++i) {
    void* volatile p = malloc(400);
    free(p);
  }
}

__attribute__((noinline)) static void deep(int depth) {
  volatile char frame[64];
  frame[0] = (char)depth;
  allocate(1);
  if (depth > 0) {
    deep(depth - 1);
  } else if (g_sink % 3 == 0) {
    siglongjmp(g_back, 1);
  } else {
    raise(g_sink % 3 == 1 ? SIGUSR1 : SIGUSR2);
  }
  frame[1] = frame[0];
}

static void on_first(int signal) {
  allocate(signal != 0 ? 3 : 0);
  raise(SIGUSR2);
  allocate(1);
}

static void on_second(int signal, siginfo_t* information, void* context) {
  (void)information;
  (void)context;
  allocate(signal != 0 ? 2 : 0);
  if (g_sink % 5 == 0) {
    siglongjmp(g_back, 1);
  }
}

int main(void) {
  struct sigaction first = {.sa_handler = on_first};
  struct sigaction second = {.sa_sigaction = on_second, .sa_flags = SA_SIGINFO | SA_NODEFER};
  if (sigaction(SIGUSR1, &first, NULL) != 0 || sigaction(SIGUSR2, &second, NULL) != 0) {
    return 1;
  }
  for (g_sink = 0; g_sink < 300; ++g_sink) {
    if (sigsetjmp(g_back, 1) == 0) {
      deep(g_sink % 9);
    }
    allocate(1);
  }
  return 0;
}
