// SPDX-License-Identifier: Apache-2.0
// Allocates on stacks that are known: from a loop, through a function of the C library, on a thread, and
// below a large frame.  known_stacks_test.py has the numbers.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

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

int main(void) {
  from_loop();
  from_library();
  large_frame(3);
  pthread_t thread;
  if (pthread_create(&thread, NULL, on_thread, NULL) != 0 || pthread_join(thread, NULL) != 0) return 1;
  return 0;
}
