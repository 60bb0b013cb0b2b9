// SPDX-License-Identifier: Apache-2.0
// A program whose result shows whether its profiler disturbed it: blocks keep what is in them, errno and the
// mask of signals stay as they were, a waiting signal goes on waiting, threads and a child run.  Prints its
// result and ends with status 7.  "child" as an argument: a child with a profile of its own, under
// MEMPROF_FOLLOW_FORK.
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

enum { kBlocks = 60 };

static unsigned char* g_blocks[kBlocks];

SITE void* grown_site(void* block, size_t size) {
  return keep(realloc(block, opaque(size)));
}
SITE void* kept_site(size_t size) {
  return keep(malloc(opaque(size)));
}
SITE void* thread_site(void) {
  return keep(calloc(3, opaque(1000)));
}

static void* run(void* unused) {
  (void)unused;
  unsigned char* block = thread_site();
  const int sum = block[0] + block[2999];
  free(block);
  return (void*)(intptr_t)sum;
}

static int same_mask(const sigset_t* one, const sigset_t* other) {
  for (int number = 1; number < 32; ++number) {
    if (sigismember(one, number) != sigismember(other, number)) return 0;
  }
  return 1;
}

int main(int argc, char** argv) {
  free(keep(
      malloc(1)));  // libc's first one may ask for random bytes, and leaves in errno that it did not get them
  sigset_t before, after, waiting;
  sigemptyset(&before);
  sigaddset(&before, SIGUSR1);
  sigaddset(&before, SIGPIPE);
  sigprocmask(SIG_SETMASK, &before, NULL);
  raise(SIGPIPE);  // waits, and must not be taken by us
  int wrong_errno = 0;
  for (int i = 0; i < kBlocks; ++i) {
    errno = 4711;
    g_blocks[i] = kept_site(100 + (size_t)i);
    memset(g_blocks[i], i, 100);
    if (i % 4 == 0) {
      // 4,000 each: of a size that no other function asks for.
      g_blocks[i] = grown_site(g_blocks[i], 4000);
    }
    wrong_errno += errno != 4711;
  }
  pthread_t threads[2];
  for (int i = 0; i < 2; ++i) {
    if (pthread_create(&threads[i], NULL, run, NULL) != 0) die("pthread_create");
  }
  for (int i = 0; i < 2; ++i) {
    void* sum;
    pthread_join(threads[i], &sum);
    if (sum != NULL) die("a block of calloc is not zero");
  }
  int sum = 0;
  for (int i = 0; i < kBlocks; ++i) {
    for (int byte = 0; byte < 100; ++byte) sum += g_blocks[i][byte] == i;
    if (i % 3 == 0) free(g_blocks[i]);
  }
  int child_status = 5;
  if (argc > 1) {
    const pid_t child = fork();
    if (child == 0) {
      kept_site(50000);
      _exit(5);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status)) die("the child");
    child_status = WEXITSTATUS(status);
  }
  (void)argv;
  sigprocmask(SIG_SETMASK, NULL, &after);
  sigemptyset(&waiting);  // sigpending may be refused, too
  sigpending(&waiting);
  printf("right bytes %d, wrong errno %d, same mask %d, still waits %d, child %d\n", sum, wrong_errno,
         same_mask(&before, &after), sigismember(&waiting, SIGPIPE), child_status);
  return 7;
}
