// SPDX-License-Identifier: Apache-2.0
// `storm drive COUNT TRUTH`: COUNT short processes, which end, are killed, execute another program or fork;
// where the kernel lets it, with the same process ids repeatedly.  Each allocates a block of 1000 + its
// number bytes and writes "PID NUMBER" to the file TRUTH.  `storm exec N ...` executes itself N times, then
// `...`.
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "truth.h"

enum { kReturn, kExit, kKill, kExec, kFork, kGrandchild, kWays, kBatch = 20 };

static const char* g_program;
static void* g_block;

SITE void* storm_block(int number) {
  return keep(malloc(opaque(1000 + (size_t)number)));
}

static void live(int number, const char* truth, int way) {
  g_block = storm_block(number);
  char line[64];
  const int length = snprintf(line, sizeof(line), "%d %d\n", (int)getpid(), number);
  const int fd = open(truth, O_WRONLY | O_APPEND);
  if (write(fd, line, (size_t)length) != length) abort();
  close(fd);
  if (way == kKill || way == kGrandchild) kill(getpid(), SIGKILL);
  if (way == kExit) _exit(0);
  exit(0);
}

static void execute(int number, const char* truth, int way) {
  char text[2][16];
  snprintf(text[0], sizeof(text[0]), "%d", number);
  snprintf(text[1], sizeof(text[1]), "%d", way);
  execl(g_program, g_program, "live", text[0], truth, text[1], (char*)0);
  abort();
}

static void begin(int number, const char* truth) {
  const int way = number % kWays;
  if (fork() != 0) return;
  if (way == kFork) live(number, truth, way);
  if (way == kGrandchild && fork() != 0) {
    wait(NULL);
    _exit(0);
  }
  if (way == kExec) g_block = storm_block(90000);  // of an image that is not this process's last
  execute(number, truth, way);
}

static void drive(int count, const char* truth) {
  for (int number = 0; number < count; ++number) {
    if (number % kBatch == 0) {
      while (wait(NULL) > 0) {
      }
      usleep(20000);  // more than a tick of the clock that tells processes of one id
      const int fd = open("/proc/sys/kernel/ns_last_pid", O_WRONLY);
      if (fd >= 0 && write(fd, "1000", 4) == 4) puts("again");
      if (fd >= 0) close(fd);
    }
    begin(number, truth);
  }
  while (wait(NULL) > 0) {
  }
}

int main(int argc, char** argv) {
  g_program = argv[0];
  if (argc == 4 && strcmp(argv[1], "drive") == 0) drive(atoi(argv[2]), argv[3]);
  if (argc == 5 && strcmp(argv[1], "live") == 0) live(atoi(argv[2]), argv[3], atoi(argv[4]));
  if (argc > 3 && strcmp(argv[1], "exec") == 0) {
    g_block = storm_block(80000);
    const int more = atoi(argv[2]);
    if (more == 0) {
      execv(argv[3], argv + 3);
      abort();
    }
    char text[16];
    snprintf(text, sizeof(text), "%d", more - 1);
    argv[2] = text;
    execv(argv[0], argv);
    abort();
  }
  return 0;
}
