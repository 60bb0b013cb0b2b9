// SPDX-License-Identifier: Apache-2.0
// Allocates on stacks that are known: from a loop, through a function of the C library, on a thread, below a
// large frame, and in signal handlers that interrupt a function without a frame, the C library, another
// stack, and functions while they make and leave their frames.  known_stacks_test.py has the numbers.
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#define NOINLINE __attribute__((noinline))

static void* volatile g_kept;
static volatile int g_sink;

NOINLINE void leaf(int size) {
  g_kept = malloc((size_t)size);
  g_sink++;
}
NOINLINE void middle(int size) {
  leaf(size);
  g_sink++;
}
NOINLINE void from_loop(void) {
  for (int i = 0; i < 1000; i++) middle(101);
}
NOINLINE int compare(const void* a, const void* b) {
  middle(103);
  return *(const int*)a - *(const int*)b;
}
NOINLINE void from_library(void) {
  int numbers[2] = {2, 1};
  qsort(numbers, 2, sizeof(int), compare);
  g_sink += numbers[0];
}
NOINLINE void large_frame(int depth) {
  char frame[70000];
  memset(frame, depth, sizeof(frame));
  if (depth == 0) {
    middle(105);
  } else {
    large_frame(depth - 1);
  }
  g_sink += frame[g_sink & 1023];
}
NOINLINE void* on_thread(void* unused) {
  middle(107);
  g_sink++;
  return unused;
}

static volatile int g_size;
static volatile int g_signals;

NOINLINE void on_signal(int unused) {
  (void)unused;
  middle(g_size);
  g_signals++;
}
// A leaf: it saves nothing, the return address is in a register.
NOINLINE void spin(volatile int* counter, int until) {
  while (*counter < until) {
  }
}
NOINLINE void interrupted_leaf(int size) {
  g_size = size;
  g_signals = 0;
  const struct itimerval once = {{0, 0}, {0, 2000}};
  setitimer(ITIMER_REAL, &once, NULL);
  spin(&g_signals, 1);
  g_sink++;
}
NOINLINE void interrupted_library(void) {
  g_size = 111;
  raise(SIGALRM);
  g_sink++;
}
NOINLINE void handle_signals(int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = on_signal;
  action.sa_flags = flags;
  sigaction(SIGALRM, &action, NULL);
}
NOINLINE void on_a_stack_of_its_own(void) {
  static char stack[1 << 18];
  const stack_t its = {.ss_sp = stack, .ss_flags = 0, .ss_size = sizeof(stack)};
  sigaltstack(&its, NULL);
  handle_signals(SA_ONSTACK);
  interrupted_leaf(113);
  handle_signals(0);
  g_sink++;
}
NOINLINE int busy_leaf(int n) {
  return n ^ g_sink;
}
NOINLINE int busy_inner(int n) {
  const int a = busy_leaf(n);
  return a + busy_leaf(n + 1);
}
NOINLINE int busy_outer(int n) {
  const int a = busy_inner(n);
  return a + busy_inner(n + 1);
}
NOINLINE void busy(void) {
  g_size = 115;
  g_signals = 0;
  const struct itimerval often = {{0, 1500}, {0, 1500}};
  const struct itimerval never = {{0, 0}, {0, 0}};
  setitimer(ITIMER_REAL, &often, NULL);
  while (g_signals < 300) g_sink = busy_outer(g_sink);
  setitimer(ITIMER_REAL, &never, NULL);
  g_sink++;
}

int main(int argc, char** argv) {
  from_loop();
  from_library();
  large_frame(3);
  pthread_t thread;
  if (pthread_create(&thread, NULL, on_thread, NULL) != 0 || pthread_join(thread, NULL) != 0) return 1;
  if (argc > 1 && strcmp(argv[1], "signals") == 0) {
    handle_signals(0);
    interrupted_leaf(109);
    interrupted_library();
    on_a_stack_of_its_own();
    busy();
  }
  return 0;
}
