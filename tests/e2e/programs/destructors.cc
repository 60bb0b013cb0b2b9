// SPDX-License-Identifier: Apache-2.0
// malloc and free in the destructors of thread-local objects and pthread keys, until a thread's last moment,
// in new threads while they begin, and after main has returned.
#include <pthread.h>

#include <thread>
#include <vector>

#include "truth.h"

namespace {

constexpr int kThreads = 200;
pthread_key_t g_key;

}  // namespace

SITE void* in_thread_local() {
  return keep(malloc(opaque(601)));
}
SITE void* in_key() {
  return keep(malloc(opaque(603)));
}
SITE void* at_exit() {
  return keep(malloc(opaque(605)));
}

namespace {

struct Local {
  void* block = in_thread_local();
  ~Local() {
    free(block);
    free(in_thread_local());
  }
};

thread_local Local t_local;

// Called PTHREAD_DESTRUCTOR_ITERATIONS times, as it sets its value again.
void destroy_key(void* value) {
  free(value);
  pthread_setspecific(g_key, in_key());
}

// Locks what is known of the thread, and allocates meanwhile.
void ask_for_own_stack() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) die("pthread_getattr_np");
  pthread_attr_destroy(&attributes);
}

void run() {
  ask_for_own_stack();
  keep(t_local.block);
  pthread_setspecific(g_key, in_key());
}

void leave() {
  free(at_exit());
  keep(at_exit());
}

}  // namespace

int main() {
  pthread_key_create(&g_key, destroy_key);
  for (int i = 0; i < kThreads; i += 20) {
    std::vector<std::thread> threads;
    for (int j = 0; j < 20; ++j) threads.emplace_back(run);
    for (std::thread& thread : threads) thread.join();
  }
  // glibc calls a key's destructor at most 4 times; the value of the last is lost.
  constexpr int kRounds = 4;
  tell("in_thread_local", "-", 2 * kThreads, 2 * kThreads * 601, 0, 0);
  tell("in_key", "-", kThreads * (kRounds + 1), kThreads * (kRounds + 1) * 603, kThreads, kThreads * 603);
  tell("at_exit", "-", 2, 2 * 605, 0, 0);  // the end had begun: it was not live before
  fflush(stdout);
  atexit(leave);
  return 0;
}
