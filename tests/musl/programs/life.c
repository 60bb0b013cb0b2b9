// SPDX-License-Identifier: Apache-2.0
// life WAY...: allocates on the ways that lead through the C library, and ends in one of them:
//   return, exit, _exit, quick_exit, abort, kill   how it ends
//   fork                                           a child allocates, too
//   signal                                         in a handler, on a stack of its own
//   callback                                       below qsort and atexit
//   library FILE                                   in a library that is opened and closed
//   execute FILE ARGUMENT...                       prints what is preloaded, and becomes FILE in a child
#include <dlfcn.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SITE __attribute__((noinline))

SITE static void* use(void* block) {
  __asm__ volatile("" : : "r"(block) : "memory");
  return block;
}

SITE void* in_main(void) {
  return use(malloc(1009));
}
SITE void* in_child(void) {
  return use(malloc(1013));
}
SITE int compare(const void* a, const void* b) {
  use(malloc(1019));
  return *(const int*)a - *(const int*)b;
}
SITE void handler(int signal) {
  use(malloc(1021 + 0 * (size_t)signal));
}
SITE void at_exit(void) {
  use(malloc(1031));
}

SITE void in_signal(void) {
  static char stack[65536];
  const stack_t other = {.ss_sp = stack, .ss_size = sizeof(stack)};
  sigaltstack(&other, NULL);
  struct sigaction action = {.sa_handler = handler, .sa_flags = SA_ONSTACK};
  sigaction(SIGUSR1, &action, NULL);
  raise(SIGUSR1);
}

static int in_library(const char* path) {
  for (int i = 0; i < 3; ++i) {
    void* library = dlopen(path, RTLD_NOW);
    void* (*allocate)(void) = library != NULL ? (void* (*)(void))dlsym(library, "in_library") : NULL;
    if (allocate == NULL) {
      fprintf(stderr, "%s\n", dlerror());
      return 1;
    }
    use(allocate());
    dlclose(library);
  }
  return 0;
}

static int in_other_process(char** command) {
  fflush(stdout);
  const pid_t pid = fork();
  if (pid == 0) {
    in_child();
    if (command != NULL) {
      execvp(command[0], command);
    }
    exit(command != NULL);
  }
  int status = 0;
  waitpid(pid, &status, 0);
  return status;
}

int main(int argc, char** argv) {
  in_main();
  for (int i = 1; i < argc; ++i) {
    const char* const way = argv[i];
    if (strcmp(way, "exit") == 0) exit(3);
    if (strcmp(way, "_exit") == 0) _exit(3);
    if (strcmp(way, "quick_exit") == 0) quick_exit(3);
    if (strcmp(way, "abort") == 0) abort();
    if (strcmp(way, "kill") == 0) raise(SIGKILL);
    if (strcmp(way, "fork") == 0 && in_other_process(NULL) != 0) return 1;
    if (strcmp(way, "signal") == 0) in_signal();
    if (strcmp(way, "library") == 0) return in_library(argv[i + 1]);
    if (strcmp(way, "callback") == 0) {
      int numbers[] = {3, 1, 2};
      qsort(numbers, 3, sizeof(int), compare);
      atexit(at_exit);
    }
    if (strcmp(way, "execute") == 0) {
      const char* const list = getenv("LD_PRELOAD");
      printf("%s\n", list != NULL ? list : "nothing");
      return in_other_process(argv + i + 1);
    }
  }
  return 3;
}
