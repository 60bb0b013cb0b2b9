// SPDX-License-Identifier: Apache-2.0
// What is special about threads and stacks on Windows: many threads one after the other, fibers, a refused allocation that
// raises an exception out of the heap's function, a DLL that is unloaded.  Says what a profile has to say, as heaps.cc does.
#include <windows.h>

#include <cstdio>
#include <cstdlib>

#define ALLOCATES extern "C" __attribute__((noinline))
#define NO_TAIL_CALL asm volatile("" ::: "memory")

ALLOCATES void* by_short_thread(size_t size) {
  void* block = HeapAlloc(GetProcessHeap(), 0, size);
  NO_TAIL_CALL;
  return block;
}
ALLOCATES void* by_fiber(size_t size) {
  void* block = HeapAlloc(GetProcessHeap(), 0, size);
  NO_TAIL_CALL;
  return block;
}
ALLOCATES void* after_exception(size_t size) {
  void* block = HeapAlloc(GetProcessHeap(), 0, size);
  NO_TAIL_CALL;
  return block;
}
ALLOCATES void* deep(int depth, size_t size) {
  void* block = depth == 0 ? HeapAlloc(GetProcessHeap(), 0, size) : deep(depth - 1, size);
  NO_TAIL_CALL;
  return block;
}

namespace {

void* g_main_fiber;
void* volatile g_raised;
CONTEXT g_recovery;
volatile int g_exceptions;

void say(const char* name, int live, size_t live_bytes, int allocated, size_t allocated_bytes) {
  std::printf("%s %d %zu %d %zu\n", name, live, live_bytes, allocated, allocated_bytes);
}

DWORD WINAPI run_thread(void*) {
  by_short_thread(40);
  HeapFree(GetProcessHeap(), 0, by_short_thread(50));
  return 0;
}

void threads() {
  constexpr int kRounds = 300;
  constexpr int kAtOnce = 4;
  for (int round = 0; round < kRounds; ++round) {
    HANDLE running[kAtOnce];
    for (HANDLE& thread : running) thread = CreateThread(nullptr, 0, run_thread, nullptr, 0, nullptr);
    WaitForMultipleObjects(kAtOnce, running, TRUE, INFINITE);
    for (HANDLE thread : running) CloseHandle(thread);
  }
  constexpr int kThreads = kRounds * kAtOnce;
  say("by_short_thread", kThreads, size_t{kThreads} * 40, 2 * kThreads, size_t{kThreads} * 90);
}

void WINAPI run_fiber(void*) {
  for (;;) {
    by_fiber(100);
    SwitchToFiber(g_main_fiber);
  }
}

void fibers() {
  g_main_fiber = ConvertThreadToFiber(nullptr);
  void* const fiber = CreateFiber(0, run_fiber, nullptr);
  for (int i = 0; i < 50; ++i) SwitchToFiber(fiber);
  say("by_fiber", 50, 5000, 50, 5000);
}

// The exception goes past the frames that it was raised in, as a handler of a C++ or structured exception does it.
LONG CALLBACK recover(EXCEPTION_POINTERS* exception) {
  if (exception->ExceptionRecord->ExceptionCode != STATUS_NO_MEMORY) return EXCEPTION_CONTINUE_SEARCH;
  g_exceptions = g_exceptions + 1;
  *exception->ContextRecord = g_recovery;
  return EXCEPTION_CONTINUE_EXECUTION;
}

void exceptions() {
  AddVectoredExceptionHandler(1, recover);
  volatile int round = 0;
  RtlCaptureContext(&g_recovery);
  if (round < 20) {
    round = round + 1;
    g_raised = HeapAlloc(GetProcessHeap(), HEAP_GENERATE_EXCEPTIONS, SIZE_MAX / 2);
  }
  for (int i = 0; i < 100; ++i) after_exception(1 << 20);
  std::fprintf(stderr, "%d exceptions\n", g_exceptions);
  say("after_exception", 100, size_t{100} << 20, 100, size_t{100} << 20);
}

}  // namespace

int main() {
  threads();
  fibers();
  for (int i = 0; i < 100; ++i) deep(40, 32);
  say("deep", 100, 3200, 100, 3200);
  exceptions();
  std::fflush(stdout);
  return 9;
}
