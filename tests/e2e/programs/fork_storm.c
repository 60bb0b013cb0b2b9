// SPDX-License-Identifier: Apache-2.0
// Forks 300 times while threads are in the slow path; each child allocates, frees what it inherited, forks
// once more, and ends by exit or _exit.
#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

enum { kThreads = 4, kForks = 300 };

static atomic_bool g_stop;
static void* g_inherited;

SITE void* in_child(void) {
  return keep(malloc(opaque(701)));
}
SITE void* in_parent(void) {
  return keep(malloc(opaque(703)));
}
SITE void* in_thread(void) {
  return keep(malloc(opaque(48)));
}

static void* run(void* unused) {
  (void)unused;
  while (!atomic_load_explicit(&g_stop, memory_order_relaxed)) free(in_thread());
  return NULL;
}

static void child(int number) {
  free(g_inherited);
  for (int i = 0; i < 50; ++i) free(in_child());
  keep(in_child());
  if (number % 10 == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) {
      keep(in_child());
      exit(0);
    }
    int status = 0;
    if (waitpid(grandchild, &status, 0) != grandchild || status != 0) _exit(3);
  }
  if (number % 2 == 0) exit(0);
  _exit(0);
}

int main(void) {
  pthread_t threads[kThreads];
  for (int i = 0; i < kThreads; ++i) pthread_create(&threads[i], NULL, run, NULL);
  g_inherited = in_parent();
  for (int i = 0; i < kForks; ++i) {
    const pid_t pid = fork();
    if (pid < 0) die("fork");
    if (pid == 0) child(i);
    int status = 0;
    if (waitpid(pid, &status, 0) != pid || status != 0) die("a child failed");
  }
  atomic_store(&g_stop, 1);
  for (int i = 0; i < kThreads; ++i) pthread_join(threads[i], NULL);
  tell("in_parent", "main", 1, 703, 1, 703);
  tell("in_child", "-", 0, 0, 0, 0);
  return 0;
}
