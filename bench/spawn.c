/* SPDX-License-Identifier: Apache-2.0
 *
 * What a preloaded library adds to a short program: starts PROGRAM repeatedly, with each setting in
 * turn, and prints wall and CPU (user + system) time of every run in nanoseconds.
 *
 * A setting is what the environment gets: "-" nothing, "NAME=VALUE[,NAME=VALUE...]" those.
 *
 * usage: spawn ROUNDS PROGRAM SETTING...
 */
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "program.h"

enum { kMaxVariables = 8 };

static uint64_t nanoseconds(struct timeval t) {
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_usec * 1000u;
}

/* Splits `setting` in place. */
static void split(char* setting, char** environment) {
  int count = 0;
  if (strcmp(setting, "-") != 0) {
    for (char* part = strtok(setting, ","); part != NULL && count < kMaxVariables; part = strtok(NULL, ",")) {
      environment[count++] = part;
    }
  }
  environment[count] = NULL;
}

int main(int argc, char** argv) {
  if (argc < 4) {
    bench_fail("usage: spawn ROUNDS PROGRAM SETTING...");
  }
  const uint64_t rounds = bench_argument(argc, argv, 1, 0);
  const int settings = argc - 3;
  char*(*environments)[kMaxVariables + 1] = calloc((size_t)settings, sizeof(*environments));
  if (environments == NULL) {
    bench_fail("no memory");
  }
  for (int s = 0; s < settings; ++s) {
    split(argv[s + 3], environments[s]);
  }
  char* arguments[] = {argv[2], NULL};
  for (uint64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < settings; ++i) {
      const int s = (int)((round + (uint64_t)i) % (uint64_t)settings); /* nobody is always first */
      const uint64_t begin = bench_clock_ns(CLOCK_MONOTONIC);
      pid_t pid;
      if (posix_spawn(&pid, argv[2], NULL, NULL, arguments, environments[s]) != 0) {
        bench_fail("cannot start the program");
      }
      int status;
      struct rusage usage;
      if (wait4(pid, &status, 0, &usage) != pid || status != 0) {
        bench_fail("the program failed");
      }
      const uint64_t end = bench_clock_ns(CLOCK_MONOTONIC);
      printf("{\"setting\": %d, \"wall_ns\": %llu, \"cpu_ns\": %llu}\n", s, (unsigned long long)(end - begin),
             (unsigned long long)(nanoseconds(usage.ru_utime) + nanoseconds(usage.ru_stime)));
    }
  }
  free(environments);
  return 0;
}
