// SPDX-License-Identifier: Apache-2.0
// Runs a program as on Linux 4.4: what later kernels added is answered as that one did, by a filter of seccomp, for its
// children too.
//
// usage: old_kernel PROGRAM [ARGUMENT...]
//
// System calls since 4.5 (copy_file_range is the first) fail with ENOSYS.  Of those that are older, what they learned
// fails with EINVAL: madvise's MADV_FREE (4.5) and advices from MADV_WIPEONFORK on (4.14), prctl's names of mappings
// (5.17), membarrier's commands but the first two (4.14), waitid by a descriptor of a process (5.4).  Not shown: flags
// that an old kernel ignores, such as mmap's MAP_FIXED_NOREPLACE.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { kMadvFree = 8, kMadvDoDump = 17, kPrSetVma = 0x53564d41, kPPidfd = 3, kMembarrierGlobal = 1 };

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ANSWER(error) BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (error))
#define SKIP_UNLESS(comparison, value, count) BPF_JUMP(BPF_JMP | BPF_K | (comparison), value, 0, count)
// EINVAL where an argument of a call compares so.
#define REFUSE(call, argument, comparison, value)                                                   \
  LOAD(nr), SKIP_UNLESS(BPF_JEQ, call, 3), LOAD(args[argument]), SKIP_UNLESS(comparison, value, 1), \
      ANSWER(EINVAL)

int main(int argc, char** argv) {
  if (argc < 2) {
    fprintf(stderr, "usage: old_kernel PROGRAM [ARGUMENT...]\n");
    return 2;
  }
  struct sock_filter filter[] = {
      LOAD(nr),
      SKIP_UNLESS(BPF_JGE, SYS_copy_file_range, 1),
      ANSWER(ENOSYS),
      REFUSE(SYS_madvise, 2, BPF_JEQ, kMadvFree),
      REFUSE(SYS_madvise, 2, BPF_JGT, kMadvDoDump),
      REFUSE(SYS_prctl, 0, BPF_JEQ, kPrSetVma),
      REFUSE(SYS_membarrier, 0, BPF_JGT, kMembarrierGlobal),
      REFUSE(SYS_waitid, 0, BPF_JEQ, kPPidfd),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {sizeof filter / sizeof filter[0], filter};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
    perror("old_kernel: the kernel takes no filter");
    return 1;
  }
  execvp(argv[1], argv + 1);
  perror(argv[1]);
  return 127;
}
