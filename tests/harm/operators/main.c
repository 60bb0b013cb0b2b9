// SPDX-License-Identifier: Apache-2.0
// A generated program (kinds/operators.py).  Its arguments are what it does, in their order:
//   exercise              the executable's own calls, if it has some
//   needed                those of a library that it is linked with
//   open:FLAGS:LIBRARY    dlopen with RTLD_NOW or RTLD_LAZY and others, and the library's calls
//   start:FLAGS:LIBRARY   loads memprof and starts it; nothing if the variable WITHOUT is set
//   stop                  memprof_stop, if it was loaded
//   wait                  says "ready", and goes on when a line comes
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "operators.h"

// The executable's, of exercise.cc under another name; or of a library that it is linked with.
void op_exercise_main(void) __attribute__((weak));
void op_exercise_needed(void) __attribute__((weak));

static void* memprof;

static void call_memprof(const char* name, int has_argument) {
  void* function = memprof ? dlsym(memprof, name) : NULL;
  if (function == NULL) return;
  const int result = has_argument ? ((int (*)(const void*))function)(NULL) : ((int (*)(void))function)();
  if (result != 0) fprintf(stderr, "%s: %d\n", name, result);
}

static void open_library(char* argument) {
  char* library = strchr(argument, ':');
  *library++ = '\0';
  void* handle = dlopen(library, atoi(argument));
  void (*function)(void) = handle ? (void (*)(void))dlsym(handle, "op_exercise") : NULL;
  if (function == NULL) {
    printf("no library\n");
    return;
  }
  function();
}

int main(int argc, char** argv) {
  const struct rlimit none = {0, 0};
  setrlimit(RLIMIT_CORE, &none);
  setvbuf(stdout, NULL, _IONBF, 0);
  for (int i = 1; i < argc; ++i) {
    char* action = argv[i];
    char line[80];
    if (!strcmp(action, "exercise") && op_exercise_main) op_exercise_main();
    if (!strcmp(action, "needed") && op_exercise_needed) op_exercise_needed();
    if (!strncmp(action, "open:", 5)) open_library(action + 5);
    if (!strncmp(action, "start:", 6) && getenv("WITHOUT") == NULL) {
      memprof = dlopen(strchr(action + 6, ':') + 1, atoi(action + 6));
      if (memprof == NULL) fprintf(stderr, "%s\n", dlerror());
      call_memprof("memprof_init", 1);
      call_memprof("memprof_start", 0);
    }
    if (!strcmp(action, "stop")) call_memprof("memprof_stop", 0);
    if (!strcmp(action, "wait")) {
      puts("ready");
      if (fgets(line, sizeof line, stdin) == NULL) return 8;
      if (op_warm_up) op_warm_up();
    }
  }
  puts("ended");
  return 0;
}
