// SPDX-License-Identifier: Apache-2.0
// A program that loads a filter of system calls when it runs, after which each call that it does not make
// itself is its end; and then allocates.
//
//   prctl | syscall    the filter of seccomp, loaded through this function
//   threads            the same through prctl, with what threads need
//   strict             read, write, exit, and nothing else
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "truth.h"

enum { kBlocks = 500, kThreads = 5, kMaxInstructions = 64 };

static void* g_blocks[kBlocks];

SITE void* before_filter(size_t i) {
  return keep(malloc(opaque(100 + i % 10)));
}
SITE void* after_filter(size_t i) {
  return keep(malloc(opaque(200 + i % 10)));
}
SITE void* in_thread(size_t i) {
  return keep(malloc(opaque(300 + i % 10)));
}

static const int kCalls[] = {SYS_read, SYS_write,  SYS_exit,  SYS_exit_group,  SYS_brk,
                             SYS_mmap, SYS_munmap, SYS_futex, SYS_rt_sigreturn};
static const int kCallsOfThreads[] = {SYS_clone,    SYS_clone3,         SYS_rseq,         SYS_set_robust_list,
                                      SYS_mprotect, SYS_rt_sigprocmask, SYS_rt_sigaction, SYS_madvise};

static void load_filter(const char* way) {
  struct sock_filter filter[kMaxInstructions];
  unsigned short size = 0;
  const int is_threads = strcmp(way, "threads") == 0;
  filter[size++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  const size_t count = sizeof kCalls / sizeof kCalls[0];
  const size_t more = is_threads ? sizeof kCallsOfThreads / sizeof kCallsOfThreads[0] : 0;
  for (size_t i = 0; i < count + more; ++i) {
    const unsigned call = (unsigned)(i < count ? kCalls[i] : kCallsOfThreads[i - count]);
    filter[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1);
    filter[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  }
  filter[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS);
  const struct sock_fprog program = {size, filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) die("no new privileges");
  if (strcmp(way, "syscall") == 0) {
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) != 0) die("seccomp");
  } else if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    die("prctl");
  }
}

static void* run(void* unused) {
  for (size_t i = 0; i < kBlocks; ++i) free(in_thread(i));
  return unused;
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "";
  for (size_t i = 0; i < kBlocks; ++i) g_blocks[i] = before_filter(i);
  for (size_t i = 0; i < kBlocks; ++i) free(g_blocks[i]);
  if (strcmp(way, "strict") == 0) {
    // What glibc keeps for itself is there already.
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) != 0) die("strict");
  } else {
    load_filter(way);
  }
  for (size_t i = 0; i < kBlocks; ++i) g_blocks[i] = after_filter(i);
  for (size_t i = 0; i < kBlocks; ++i) free(g_blocks[i]);
  for (int i = 0; strcmp(way, "threads") == 0 && i < kThreads; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, run, NULL) != 0 || pthread_join(thread, NULL) != 0) die("thread");
  }
  static const char kDone[] = "done\n";
  if (write(STDOUT_FILENO, kDone, sizeof kDone - 1) < 0) return 8;
  if (strcmp(way, "strict") == 0) syscall(SYS_exit, 7);
  return 7;
}
