// SPDX-License-Identifier: Apache-2.0
// usage: life fork | threads | zones | chain | deep | kill    one thing that a program's life has, and what it
// allocated meanwhile
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "truth.h"

typedef struct _malloc_zone_t malloc_zone_t;
malloc_zone_t* malloc_create_zone(size_t start_size, unsigned flags);
void malloc_set_zone_name(malloc_zone_t* zone, const char* name);
void* malloc_zone_malloc(malloc_zone_t* zone, size_t size);
void malloc_destroy_zone(malloc_zone_t* zone);
typedef void logger_t(uint32_t, uintptr_t, uintptr_t, uintptr_t, uintptr_t, uint32_t);
extern logger_t* malloc_logger;

SITE void* keep_here(void) {
  void* p = malloc(100);
  STAY;
  return p;
}
SITE void* keep_child(void) {
  void* p = malloc(200);
  STAY;
  return p;
}
SITE void* keep_thread(void) {
  void* p = malloc(300);
  STAY;
  return p;
}
SITE void* keep_late(void) {
  void* p = malloc(400);
  STAY;
  return p;
}
SITE void* keep_zone(malloc_zone_t* zone) {
  void* p = malloc_zone_malloc(zone, 500);
  STAY;
  return p;
}
SITE void* keep_deep(void) {
  void* p = malloc(600);
  STAY;
  return p;
}

static void* one(void* unused) {
  keep_thread();
  return unused;
}

// Keys of others end after ours, or before: both allocate.
static pthread_key_t g_key;
static void at_end(void* value) {
  keep_late();
  if ((uintptr_t)value > 1) pthread_setspecific(g_key, (void*)((uintptr_t)value - 1));
}
static void* with_key(void* unused) {
  pthread_setspecific(g_key, (void*)2);
  keep_thread();
  return unused;
}

static void run_threads(void* (*function)(void*), int count) {
  for (int i = 0; i < count; ++i) {
    pthread_t id;
    pthread_create(&id, NULL, function, NULL);
    pthread_join(id, NULL);
  }
}

static unsigned long g_logged;
static logger_t* g_before;
static void count(uint32_t type, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d, uint32_t e) {
  __atomic_fetch_add(&g_logged, 1, __ATOMIC_RELAXED);
  if (g_before != NULL) g_before(type, a, b, c, d, e);
}

SITE void* go_deep(int depth) {
  void* p = depth == 0 ? keep_deep() : go_deep(depth - 1);
  STAY;
  return p;
}

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  keep_here();
  if (strcmp(argv[1], "fork") == 0) {
    const int child = fork();
    if (child == 0) {
      for (int i = 0; i < 7; ++i) keep_child();
      run_threads(one, 2);
      say_truth("keep_child", 7, 1400, 7, 1400);
      say_truth("keep_thread", 2, 600, 2, 600);
      say_truth("keep_here", 0, 0, 0, 0);
      exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    keep_here();
    say_truth("keep_here", 2, 200, 2, 200);
    return status;
  }
  if (strcmp(argv[1], "threads") == 0) {
    run_threads(one, 700);
    pthread_key_create(&g_key, at_end);
    run_threads(with_key, 300);
    say_truth("keep_here", 1, 100, 1, 100);
    say_truth("keep_thread", 1000, 300000, 1000, 300000);
    say_truth("keep_late", 600, 240000, 600, 240000);
  } else if (strcmp(argv[1], "zones") == 0) {
    for (int i = 0; i < 40; ++i) {
      malloc_zone_t* zone = malloc_create_zone(0, 0);
      malloc_set_zone_name(zone, i % 2 == 0 ? "even" : "odd");
      for (int n = 0; n < 25; ++n) keep_zone(zone);
      if (i >= 4) malloc_destroy_zone(zone);
    }
    say_truth("keep_here", 1, 100, 1, 100);
    say_truth("keep_zone", 100, 50000, 1000, 500000);
  } else if (strcmp(argv[1], "chain") == 0) {
    g_before = malloc_logger;
    malloc_logger = count;
    for (int i = 0; i < 1000; ++i) free(realloc(keep_here(), 900));
    malloc_logger = g_before;
    say_truth("keep_here", 1, 100, 1001, 100100);
    say_truth("main", 1, 100, 2001, 1000100);
    say_truth("logged", 0, 0, 0, 0);
    return g_logged == 3000 ? 0 : 9;
  } else if (strcmp(argv[1], "deep") == 0) {
    for (int i = 0; i < 50; ++i) go_deep(100);
    say_truth("keep_here", 1, 100, 1, 100);
    say_truth("keep_deep", 50, 30000, 50, 30000);
  } else if (strcmp(argv[1], "kill") == 0) {
    for (int i = 0; i < 1000; ++i) free(keep_deep());
    say_truth("keep_here", 1, 100, 1, 100);
    say_truth("keep_deep", 0, 0, 1000, 600000);
    kill(getpid(), SIGKILL);
  } else {
    return 2;
  }
  return 0;
}
