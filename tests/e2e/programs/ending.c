// SPDX-License-Identifier: Apache-2.0
// Allocates a block of 9001 bytes and ends in the way that the argument names.
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

static void* g_block;

SITE void* before_the_end(void) {
  return keep(malloc(opaque(9001)));
}

static void* end_process(void* unused) {
  (void)unused;
  exit(7);
}

static void end_in_handler(int signal) {
  (void)signal;
  _exit(7);
}

int main(int argc, char** argv) {
  const char* way = argc > 1 ? argv[1] : "";
  g_block = before_the_end();
  if (strcmp(way, "return") == 0) return 7;
  if (strcmp(way, "exit") == 0) exit(7);
  if (strcmp(way, "_exit") == 0) _exit(7);
  if (strcmp(way, "_Exit") == 0) _Exit(7);
  if (strcmp(way, "quick_exit") == 0) quick_exit(7);
  if (strcmp(way, "exit_group") == 0) syscall(SYS_exit_group, 7);
  if (strcmp(way, "abort") == 0) abort();
  if (strcmp(way, "kill") == 0) kill(getpid(), SIGKILL);
  if (strcmp(way, "term") == 0) raise(SIGTERM);
  if (strcmp(way, "_exit in handler") == 0) {
    signal(SIGUSR1, end_in_handler);
    raise(SIGUSR1);
  }
  if (strcmp(way, "thread") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, end_process, NULL);
    pthread_join(thread, NULL);
  }
  if (strcmp(way, "pthread_exit") == 0) {
    pthread_t thread;
    pthread_create(&thread, NULL, end_process, NULL);
    pthread_exit(NULL);
  }
  if (strcmp(way, "exec") == 0) {
    execl(argv[0], argv[0], "return", (char*)NULL);
    die("execl");
  }
  if (strcmp(way, "vfork") == 0) {
    const pid_t child = vfork();
    if (child == 0) _exit(5);
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 5 ? 7 : 8;
  }
  if (strcmp(way, "vfork exec") == 0) {
    const pid_t child = vfork();
    if (child == 0) {
      execl("/no/such/program", "x", (char*)NULL);
      _exit(127);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 127 ? 7 : 8;
  }
  if (strcmp(way, "fork") == 0) {
    const pid_t child = fork();
    if (child == 0) exit(5);
    int status = 0;
    waitpid(child, &status, 0);
    return WEXITSTATUS(status) == 5 ? 7 : 8;
  }
  if (strcmp(way, "close all") == 0) {
    for (int fd = 0; fd < 1024; ++fd) close(fd);
    keep(malloc(opaque(50)));
    // What is opened next gets number 0: nothing of the profiler's is in the way.
    return open("/dev/null", O_RDONLY) == 0 ? 7 : 8;
  }
  if (strcmp(way, "chdir") == 0) return chdir("/") == 0 ? 7 : 8;
  if (strcmp(way, "clearenv") == 0) return clearenv() == 0 ? 7 : 8;
  die("how?");
}
