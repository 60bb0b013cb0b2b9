// SPDX-License-Identifier: Apache-2.0
// `records_calls LOG CMD ARG...`: runs CMD and writes each system call of it, and of what it starts, as a line "NUMBER
// ARGUMENT*6" to LOG before it is made.  By a filter that tells this process of every call (SECCOMP_RET_USER_NOTIF), so that
// another process can trace CMD meanwhile.  Ends as CMD does.
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static void fail(const char* what) {
  fprintf(stderr, "records_calls: %s: %s\n", what, strerror(errno));
  exit(2);
}

// Shares our descriptors until it executes CMD.
static pid_t start(char** command, volatile int* listener) {
  const pid_t pid = (pid_t)syscall(SYS_clone, CLONE_FILES | SIGCHLD, 0, 0, 0, 0);
  if (pid != 0) return pid;
  struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_USER_NOTIF)};
  const struct sock_fprog filter = {1, all};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) _exit(2);
  *listener = (int)syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &filter);
  if (*listener < 0) _exit(2);
  execvp(command[0], command);
  _exit(127);
}

static void follow(int listener, int log) {
  for (;;) {
    struct seccomp_notif call;
    memset(&call, 0, sizeof(call));
    struct pollfd wait = {listener, POLLIN, 0};
    if (poll(&wait, 1, -1) < 0) continue;
    if ((wait.revents & POLLIN) == 0) return;                             // nobody has the filter any more
    if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) != 0) continue;  // it was interrupted
    char line[200];
    const int length = snprintf(line, sizeof(line), "%d %llx %llx %llx %llx %llx %llx\n", call.data.nr,
                                call.data.args[0], call.data.args[1], call.data.args[2], call.data.args[3],
                                call.data.args[4], call.data.args[5]);
    if (write(log, line, (size_t)length) != length) fail("the log");
    struct seccomp_notif_resp go_on;
    memset(&go_on, 0, sizeof(go_on));
    go_on.id = call.id;
    go_on.flags = SECCOMP_USER_NOTIF_FLAG_CONTINUE;
    ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &go_on);
  }
}

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const int log = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  volatile int* const listener =
      mmap(NULL, sizeof(*listener), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (log < 0 || listener == MAP_FAILED) fail("start");
  *listener = -1;
  const pid_t pid = start(argv + 2, listener);
  if (pid < 0) fail("clone");
  while (*listener < 0 && waitpid(pid, NULL, WNOHANG) == 0) usleep(1000);
  if (*listener < 0) fail("no filter");
  follow(*listener, log);
  int status = 0;
  if (waitpid(pid, &status, 0) != pid) fail("wait");
  if (WIFSIGNALED(status)) kill(getpid(), WTERMSIG(status));
  return WEXITSTATUS(status);
}
