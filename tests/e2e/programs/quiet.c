// SPDX-License-Identifier: Apache-2.0
// Allocates in ever more stacks, and makes no system call for it: what others see of its calls is memprof's.
//   quiet ROUNDS              so many rounds, then "right" and status 7
//   quiet ROUNDS CALL ACTION  the same behind a filter of system calls of its own, which answers CALL with ACTION
//                             (SECCOMP_RET_*, a number)
//   quiet ROUNDS CALL ACTION thread   the same in a second thread, which alone has the filter
//   quiet behind CALL ACTION LIBRARY CMD ARG...   executes CMD behind it, with LIBRARY preloaded ("-": none)
// After its first round it says "ready".
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

enum { kBlocks = 64, kDepth = 14 };
static unsigned char* g_blocks[kBlocks];
static unsigned long g_wrong;

__attribute__((noinline)) static void leaf(unsigned path) {
  unsigned char** const place = &g_blocks[path % kBlocks];
  if (*place != NULL) {
    g_wrong += (*place)[0] != (unsigned char)(path % kBlocks);
    free(*place);
  }
  *place = malloc(64 + path % 512);
  if (*place == NULL) {
    ++g_wrong;
  } else {
    memset(*place, (int)(path % kBlocks), 64);
  }
}

static void down(unsigned path, unsigned bits, int depth);

__attribute__((noinline)) static void left(unsigned path, unsigned bits, int depth) {
  down(path, bits >> 1, depth - 1);
  __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) static void right(unsigned path, unsigned bits, int depth) {
  down(path, bits >> 1, depth - 1);
  __asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) static void down(unsigned path, unsigned bits, int depth) {
  if (depth == 0) {
    leaf(path);
  } else if ((bits & 1) != 0) {
    left(path, bits, depth);
  } else {
    right(path, bits, depth);
  }
  __asm__ volatile("" ::: "memory");
}

static int filter(unsigned call, unsigned action) {
  struct sock_filter steps[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
                                BPF_STMT(BPF_RET | BPF_K, action),
                                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const struct sock_fprog program = {sizeof(steps) / sizeof(steps[0]), steps};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

struct arguments {
  int count;
  char** words;
};

static void* work(void* given) {
  const int argc = ((struct arguments*)given)->count;
  char** const argv = ((struct arguments*)given)->words;
  const unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
  if (argc > 3 && !filter((unsigned)strtoul(argv[2], NULL, 0), (unsigned)strtoul(argv[3], NULL, 0))) _exit(3);
  for (unsigned long i = 0; i < rounds; ++i) {
    for (unsigned path = 0; path < 1U << 10; ++path) {
      const unsigned bits = (unsigned)(i << 10 | path);
      down(path, bits * 2654435761U >> 7, kDepth);
    }
    if (i == 0) {
      puts("ready");
      fflush(stdout);
    }
  }
  puts(g_wrong == 0 ? "right" : "wrong");
  fflush(stdout);
  _exit(g_wrong == 0 ? 7 : 8);
}

int main(int argc, char** argv) {
  if (argc > 5 && strcmp(argv[1], "behind") == 0) {
    if (strcmp(argv[4], "-") != 0) setenv("LD_PRELOAD", argv[4], 1);
    if (!filter((unsigned)strtoul(argv[2], NULL, 0), (unsigned)strtoul(argv[3], NULL, 0))) return 3;
    execv(argv[5], argv + 5);
    return 4;
  }
  static char buffer[256];
  setvbuf(stdout, buffer, _IOFBF, sizeof(buffer));
  free(malloc(1));  // the C library asks for random numbers when it is called first
  struct arguments given = {argc, argv};
  pthread_t thread;
  if (argc > 4) {
    if (pthread_create(&thread, NULL, work, &given) != 0) return 3;
    pthread_join(thread, NULL);
    return 5;  // the filter has ended it
  }
  work(&given);
}
