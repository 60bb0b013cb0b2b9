// SPDX-License-Identifier: Apache-2.0
// Allocates from under every odd kind of frame: realigned, variable and huge ones, calls that do not return,
// exceptions, signal handlers on both stacks and at any instruction, coroutines, small threads, lazily bound
// calls.
//
// usage: odd_frames ROUNDS
#include <alloca.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include <stdexcept>
#include <vector>

#define NOINLINE __attribute__((noinline))

namespace {

volatile uint64_t g_sink;

NOINLINE void allocate() {
  void* volatile p = malloc(40);
  free(p);
  g_sink = g_sink + 1;
}

NOINLINE void realigned(int depth) {
  alignas(64) volatile char aligned[100];
  aligned[0] = static_cast<char>(depth);
  if (depth > 0) {
    realigned(depth - 1);
  } else {
    allocate();
  }
  g_sink = g_sink + static_cast<uint64_t>(aligned[0]);
}

NOINLINE void variable(int depth, size_t size) {
  volatile char* p = static_cast<char*>(alloca(size));
  p[0] = 1;
  if (depth > 0) {
    variable(depth - 1, size * 3 % 1000 + 1);
  } else {
    allocate();
  }
  g_sink = g_sink + static_cast<uint64_t>(p[0]);
}

NOINLINE void realigned_and_variable(size_t size) {
  alignas(128) volatile char aligned[100];
  volatile char* p = static_cast<char*>(alloca(size));
  p[0] = aligned[0] = 1;
  allocate();
  g_sink = g_sink + static_cast<uint64_t>(p[0]) + static_cast<uint64_t>(aligned[0]);
}

template <size_t kBytes>
NOINLINE void huge(int depth) {
  volatile char frame[kBytes];
  frame[0] = 1;
  frame[kBytes - 1] = 1;
  if (depth > 0) {
    huge<kBytes>(depth - 1);
  } else {
    allocate();
  }
  g_sink = g_sink + static_cast<uint64_t>(frame[0]);
}

jmp_buf g_back;

[[noreturn]] NOINLINE void never_returns() {
  allocate();
  longjmp(g_back, 1);
}

// The call is the last instruction: the return address is in the next function.
NOINLINE void ends_with_call(int n) {
  if (n > 0) {
    g_sink = g_sink + 1;
  }
  never_returns();
}
NOINLINE void after_it() {
  g_sink = g_sink + 2;
}

struct Guard {
  ~Guard() { allocate(); }  // in the landing pad
};

NOINLINE void throws(int depth) {
  Guard guard;
  if (depth == 0) {
    throw std::runtime_error("thrown by the test, longer than the small string");
  }
  throws(depth - 1);
  g_sink = g_sink + 1;
}

int compare_ints(const void* a, const void* b) {
  allocate();
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

NOINLINE void called_back() {
  int values[] = {5, 2, 8, 1, 9};
  qsort(values, 5, sizeof(int), compare_ints);
}

// ---- Signals
// -------------------------------------------------------------------------------------------------

volatile sig_atomic_t g_may_allocate;  // not while malloc's own locks may be held

void on_signal(int) {
  allocate();
}

void on_tick(int) {
  if (g_may_allocate != 0) {
    allocate();
  }
}

void handle(int signal, void (*handler)(int), int flags) {
  struct sigaction action;
  memset(&action, 0, sizeof(action));
  action.sa_handler = handler;
  action.sa_flags = flags | SA_RESTART;
  sigaction(signal, &action, nullptr);
}

// A leaf without a frame: the trap is its own instruction.
NOINLINE void leaf() {
  __asm__ volatile("int3" ::: "memory");
}

NOINLINE double busy(int rounds) {
  double sum = 0;
  char buffer[64];
  timespec now;
  for (int i = 0; i < rounds; ++i) {
    clock_gettime(CLOCK_MONOTONIC, &now);  // vdso
    sum += sin(static_cast<double>(i)) + static_cast<double>(now.tv_nsec % 3);
    memset(buffer, i, sizeof(buffer));
    sum += static_cast<double>(strlen(buffer + 60) & 1) + static_cast<double>(buffer[3]);
    snprintf(buffer, sizeof(buffer), "%d", i);
    qsort(buffer, 32, 1, [](const void* a, const void* b) {
      return *static_cast<const char*>(a) - *static_cast<const char*>(b);
    });
  }
  return sum;
}

NOINLINE void signals(int rounds) {
  handle(SIGUSR1, on_signal, 0);
  handle(SIGUSR2, on_signal, SA_ONSTACK);
  handle(SIGTRAP, on_signal, rounds % 2 == 0 ? SA_ONSTACK : 0);
  raise(SIGUSR1);
  raise(SIGUSR2);
  leaf();
}

NOINLINE void signals_anywhere(int rounds) {
  for (const int flags : {0, SA_ONSTACK}) {
    handle(SIGPROF, on_tick, flags);
    const itimerval interval{{0, 200}, {0, 200}};
    setitimer(ITIMER_PROF, &interval, nullptr);
    g_may_allocate = 1;
    g_sink = g_sink + static_cast<uint64_t>(busy(rounds * 100) != 0);
    g_may_allocate = 0;
    const itimerval stop{};
    setitimer(ITIMER_PROF, &stop, nullptr);
  }
}

// ---- Other stacks
// ---------------------------------------------------------------------------------------------

ucontext_t g_main_context;
ucontext_t g_coroutine;

void coroutine() {
  for (;;) {
    allocate();
    realigned(2);
    variable(3, 50);
    swapcontext(&g_coroutine, &g_main_context);
  }
}

NOINLINE void coroutines(bool mapped) {
  constexpr size_t kSize = 64 * 1024;
  void* stack = mapped ? mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
                       : malloc(kSize);
  getcontext(&g_coroutine);
  g_coroutine.uc_stack.ss_sp = stack;
  g_coroutine.uc_stack.ss_size = kSize;
  g_coroutine.uc_link = nullptr;
  makecontext(&g_coroutine, coroutine, 0);
  for (int i = 0; i < 5; ++i) {
    swapcontext(&g_main_context, &g_coroutine);
  }
  if (mapped) {
    munmap(stack, kSize);
  } else {
    free(stack);
  }
}

void* small_thread(void*) {
  for (int i = 0; i < 20; ++i) {
    allocate();
    realigned(3);
    called_back();
  }
  return nullptr;
}

NOINLINE void threads() {
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 64 * 1024);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, small_thread, nullptr) == 0) {
    pthread_join(thread, nullptr);
  }
  pthread_attr_destroy(&attributes);
}

}  // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? atoi(argv[1]) : 10;
  static char alternate[128 * 1024];
  stack_t stack{};
  stack.ss_sp = alternate;
  stack.ss_size = sizeof(alternate);
  sigaltstack(&stack, nullptr);
  for (int i = 0; i < rounds; ++i) {
    realigned(i % 5);
    variable(i % 7, static_cast<size_t>(i % 100) + 1);
    realigned_and_variable(static_cast<size_t>(i % 50) + 1);
    huge<1000>(3);
    huge<20000>(3);
    huge<140000>(3);  // over 128 KiB
    huge<600000>(2);  // over 512 KiB: too large for a rule
    if (setjmp(g_back) == 0) {
      ends_with_call(i);
    }
    after_it();
    try {
      throws(i % 6);
    } catch (const std::exception&) {
      allocate();
    }
    called_back();
    signals(i);
    coroutines(true);
    coroutines(false);
    threads();
  }
  signals_anywhere(rounds);
  printf("%d rounds\n", rounds);
  return 0;
}
