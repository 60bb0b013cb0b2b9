// SPDX-License-Identifier: Apache-2.0
// What Python 3.14 and 3.15 show to who has them run a script (PEP 768), in a library: tests/e2e/remote_python.py loads it
// into an older Python and runs the scripts itself.
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kInterpretersHead = 5, kId = 7, kNext = 8, kMainThread = 10, kPath = 512 };
// Bits of eval_breaker that the interpreter clears.
enum { kStop = 1 << 5, kCleared = 0x2e, kMerge = 1 << 6 };

struct thread {
  uint64_t other;
  uint64_t eval_breaker;
  struct {
    int32_t pending;
    char path[kPath];
  } script;
};

struct interpreter {
  struct interpreter* next;
  int64_t id;
  struct thread* main;
  int32_t is_enabled;
};

static struct {
  char cookie[8];
  uint64_t words[120];
  struct interpreter* first;
} runtime __attribute__((section(".PyRuntime"), used)) = {.cookie = "none"};

static struct thread thread;
static struct interpreter main_interpreter = {NULL, 0, &thread, 1};
static struct interpreter another = {&main_interpreter, 1, NULL, 1};

static void set(int word, uint64_t value) {
  runtime.words[word - 1] = value;
}

void begin(uint64_t version, int is_enabled, int is_free_threaded, uint64_t path_bytes) {
  memcpy(runtime.cookie, "xdebugpy", sizeof(runtime.cookie));
  const int support = (version >> 16 & 0xff) == 14 ? 89 : 105;
  set(1, version);
  set(2, is_free_threaded);
  set(kInterpretersHead, (uintptr_t)&runtime.first - (uintptr_t)&runtime);
  set(kId, offsetof(struct interpreter, id));
  set(kNext, offsetof(struct interpreter, next));
  set(kMainThread, offsetof(struct interpreter, main));
  set(support, offsetof(struct thread, eval_breaker));
  set(support + 1, offsetof(struct thread, script));
  set(support + 2, offsetof(struct interpreter, is_enabled));
  set(support + 3, 0);
  set(support + 4, offsetof(struct thread, script.path) - offsetof(struct thread, script));
  set(support + 5, path_bytes);
  main_interpreter.is_enabled = is_enabled;
  runtime.first = &another;
}

void occupy(void) {
  thread.script.pending = 1;
}

// The script that is to be run now; NULL: none.
const char* take(void) {
  static char path[kPath];
  if ((*(volatile uint64_t*)&thread.eval_breaker & kStop) == 0 ||
      *(volatile int32_t*)&thread.script.pending != 1) {
    return NULL;
  }
  // One that nobody clears would make each step of the program slower, for ever.
  if (thread.eval_breaker != (kCleared | (runtime.words[1] != 0 ? kMerge : 0))) abort();
  thread.eval_breaker = 0;
  thread.script.pending = 0;
  memcpy(path, thread.script.path, kPath);
  return path;
}

#if defined(REMOTE_PYTHON_PROGRAM)
int main(int argc, char** argv) {
  begin(argc > 1 ? strtoull(argv[1], NULL, 16) : 0, argc <= 2, 0, kPath);
  puts("ready");
  fflush(stdout);
  while (getchar() != EOF) {
  }
  puts("ok");
  return 0;
}
#endif
