// SPDX-License-Identifier: Apache-2.0
// The checks of programs/own_allocator.c with other threads, signals and fork children.
#pragma once

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "own_allocator_heaps.h"

static void* free_there(void* block) {
  g_way.free(block);
  return NULL;
}

static void check_freed_by_another_thread(void) {
  start();
  const memprof_heap_id heap = heap_named("pool:a");
  g_way.alloc(g_memory, 10, heap);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, free_there, g_memory) == 0);
  pthread_join(thread, NULL);
  CHECK_HOLDS("pool:a", 0, 0);
}

static memprof_heap_id g_heap;
static volatile sig_atomic_t g_signals;

static void on_signal(int number) {
  (void)number;
  char* const block = g_memory + 4096 + 16 * (g_signals++ % 1000);
  g_way.alloc(block, 8, g_heap);
  g_way.free(block);
}

static void check_in_a_signal_handler(void) {
  start();
  g_heap = heap_named("pool:a");
  struct sigaction action = {0};
  action.sa_handler = on_signal;
  CHECK(sigaction(SIGALRM, &action, NULL) == 0);
  timer_t timer;
  struct sigevent event = {0};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = SIGALRM;
  CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
  const struct itimerspec often = {{0, 50000}, {0, 50000}};
  CHECK(timer_settime(timer, 0, &often, NULL) == 0);
  uint64_t rounds = 0;
  for (; g_signals < 2000; ++rounds) {
    g_way.alloc(g_memory, 10, g_heap);
    g_way.realloc(g_memory, g_memory + 64, 10, g_heap);
    g_way.free(g_memory + 64);
  }
  CHECK(timer_delete(timer) == 0);
  CHECK_HOLDS("pool:a", 0, 0);
  CHECK(holds("pool:a").allocated_blocks >= 2 * rounds);
  CHECK(stats().replaced_samples == 0);
}

static void check_in_a_fork_child(void) {
  start();
  const memprof_heap_id heap = heap_named("pool:a");
  g_way.alloc(g_memory, 10, heap);
  const uint64_t before = stats().samples;
  const pid_t pid = fork();
  if (pid == 0) {
    g_way.free(g_memory);
    g_way.alloc(g_memory + 64, 10, heap);
    memprof_report_free_range(g_memory, sizeof(g_memory));
    memprof_heap_id other;
    CHECK(memprof_heap_register("child:b", &other) == MEMPROF_OK && other != heap);
    CHECK(memprof_start() == MEMPROF_ERR_FORKED);
    _exit(g_failures);
  }
  int status;
  CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK(stats().samples == before);
  CHECK_HOLDS("pool:a", 1, 10);
}

// A child that is followed has a profile of its own, where its parent's heaps have their names.
static void check_in_a_followed_fork_child(void) {
  memprof_options options;
  CHECK(memprof_options_init(&options, sizeof(options)) == MEMPROF_OK);
  options.rate_bytes = 0;
  options.follow_fork = 1;
  CHECK(memprof_init(&options) == MEMPROF_OK);
  CHECK(memprof_start() == MEMPROF_OK);
  const memprof_heap_id heap = heap_named("pool:a");
  g_way.alloc(g_memory, 10, heap);
  const pid_t pid = fork();
  if (pid == 0) {
    const memprof_heap_id early = heap_named("child:early");  // maybe before its tables
    g_way.free(g_memory);                                     // the parent's
    g_way.alloc(g_memory + 64, 20, heap);
    g_way.alloc(g_memory + 128, 30, early);
    g_way.alloc(g_memory + 192, 40, heap_named("child:late"));
    CHECK_HOLDS("pool:a", 1, 20);
    CHECK_HOLDS("child:early", 1, 30);
    CHECK_HOLDS("child:late", 1, 40);
    _exit(g_failures);
  }
  int status;
  CHECK(waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 0);
  CHECK_HOLDS("pool:a", 1, 10);
  CHECK_HOLDS("child:early", 0, 0);
}
