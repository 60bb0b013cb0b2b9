// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/memory/stack_bounds.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <ucontext.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "tests/support/engine.h"

namespace memprof::stack_bounds_test {
namespace {

using platform::is_readable;
using platform::stack_bounds;
using testing_support::in_child;
using testing_support::kSanitized;
using unwind::StackBounds;

__attribute__((noinline)) uint64_t stack_pointer() {
  return reinterpret_cast<uint64_t>(__builtin_frame_address(0));
}

// Every word of the bounds is read: what is not readable is a fault.
__attribute__((noinline, no_sanitize("address"), no_sanitize("thread"))) uint64_t
read_all(const StackBounds& bounds) {
  uint64_t sum = 0;
  for (uint64_t at = (bounds.low + 7) / 8 * 8; at + 8 <= bounds.high; at += 8) {
    sum += *reinterpret_cast<const volatile uint64_t*>(at);
  }
  return sum;
}

// `f` on a pthread whose stack has this size, or on this memory.
void on_thread(size_t stack_bytes, void* stack, const std::function<void()>& f) {
  pthread_attr_t attributes;
  ASSERT_EQ(0, pthread_attr_init(&attributes));
  if (stack != nullptr) {
    ASSERT_EQ(0, pthread_attr_setstack(&attributes, stack, stack_bytes));
  } else {
    ASSERT_EQ(0, pthread_attr_setstacksize(&attributes, std::max<size_t>(stack_bytes, PTHREAD_STACK_MIN)));
  }
  pthread_t thread;
  ASSERT_EQ(0, pthread_create(
                   &thread, &attributes,
                   [](void* argument) -> void* {
                     (*static_cast<const std::function<void()>*>(argument))();
                     return nullptr;
                   },
                   const_cast<std::function<void()>*>(&f)));
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
}

struct SystemStack {
  uint64_t low = 0;
  uint64_t high = 0;
};

SystemStack ask_the_c_library() {
  pthread_attr_t attributes;
  SystemStack s;
  void* start = nullptr;
  size_t size = 0;
  if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
    pthread_attr_getstack(&attributes, &start, &size);
    pthread_attr_destroy(&attributes);
    s = {reinterpret_cast<uint64_t>(start), reinterpret_cast<uint64_t>(start) + size};
  }
  return s;
}

TEST(StackBounds, TellsReadableFromUnreadable) {
  void* p = mmap(nullptr, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const uint64_t address = reinterpret_cast<uint64_t>(p);
  ASSERT_EQ(0, mprotect(static_cast<char*>(p) + 4096, 4096, PROT_NONE));
  errno = 99;
  EXPECT_TRUE(is_readable(address));
  EXPECT_TRUE(is_readable(address + 4088));
  EXPECT_FALSE(is_readable(address + 4089));  // its last bytes are behind the end
  EXPECT_FALSE(is_readable(address + 4096));
  munmap(p, 8192);
  EXPECT_FALSE(is_readable(address));
  for (const uint64_t never : {uint64_t{0}, uint64_t{8}, uint64_t{0x8000000000000000},
                               uint64_t{0xffff800000000000}, uint64_t{UINT64_MAX}}) {
    EXPECT_FALSE(is_readable(never)) << std::hex << never;
  }
  EXPECT_EQ(99, errno);
  // And it changed no signal mask.
  sigset_t before;
  sigset_t after;
  sigemptyset(&before);
  sigemptyset(&after);
  pthread_sigmask(SIG_SETMASK, nullptr, &before);
  is_readable(reinterpret_cast<uint64_t>(&read_all));
  pthread_sigmask(SIG_SETMASK, nullptr, &after);
  for (int signal = 1; signal < 65; ++signal) {
    EXPECT_EQ(sigismember(&before, signal), sigismember(&after, signal)) << signal;
  }
}

uint64_t g_left_in_handler;
uint64_t g_pointer_in_handler;

TEST(StackBounds, OfASignalStackWhatIsLeftIsKnown) {
  in_child([] {
    EXPECT_EQ(UINT64_MAX, platform::stack_left(stack_pointer()));
    static char memory[65536];
    const stack_t stack{memory, 0, sizeof(memory)};
    ASSERT_EQ(0, sigaltstack(&stack, nullptr));
    struct sigaction action{};
    action.sa_handler = [](int) {
      g_pointer_in_handler = stack_pointer();
      g_left_in_handler = platform::stack_left(g_pointer_in_handler);
    };
    action.sa_flags = SA_ONSTACK;
    ASSERT_EQ(0, sigaction(SIGUSR1, &action, nullptr));
    ::raise(SIGUSR1);
    EXPECT_EQ(g_pointer_in_handler - reinterpret_cast<uint64_t>(memory), g_left_in_handler);
    EXPECT_EQ(UINT64_MAX, platform::stack_left(stack_pointer()));
  });
}

TEST(StackBounds, OfTheMainThreadReachToItsEnd) {
  // A child: other tests may have made the thread remember bounds.
  in_child([] {
    const uint64_t here = stack_pointer();
    const StackBounds bounds = stack_bounds(here);
    EXPECT_EQ(here, bounds.low);
    EXPECT_EQ(nullptr, bounds.grow);
    const SystemStack system = ask_the_c_library();
    EXPECT_LE(bounds.high, system.high);
    EXPECT_GT(bounds.high, system.high - 256 * 1024);  // above __libc_stack_end: arguments and environment
    read_all(bounds);
    // Remembered: also for frames further down and further up.
    EXPECT_EQ(bounds.high, stack_bounds(here - 100000).high);
    EXPECT_EQ(bounds.high, stack_bounds(here + 64).high);
    EXPECT_EQ(here + 64, stack_bounds(here + 64).low);
  });
}

TEST(StackBounds, OfThreadsEndBelowTheirStorage) {
  for (const size_t size : {size_t{64} * 1024, size_t{256} * 1024, size_t{8} << 20}) {
    on_thread(kSanitized ? size + (1 << 20) : size, nullptr, [] {
      const uint64_t here = stack_pointer();
      const StackBounds bounds = stack_bounds(here);
      const SystemStack system = ask_the_c_library();
      EXPECT_EQ(here, bounds.low);
      EXPECT_EQ(nullptr, bounds.grow);
      EXPECT_LE(bounds.high, system.high);
      EXPECT_GT(bounds.high, system.high - 64 * 1024);
      EXPECT_GT(bounds.high, here + 64);
      read_all(bounds);
    });
  }
}

TEST(StackBounds, OfAThreadOnMemoryOfTheProgram) {
  constexpr size_t kSize = 2 << 20;
  void* memory = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  on_thread(kSize, memory, [&] {
    const StackBounds bounds = stack_bounds(stack_pointer());
    EXPECT_LE(bounds.high, reinterpret_cast<uint64_t>(memory) + kSize);
    EXPECT_GT(bounds.high, bounds.low);
    read_all(bounds);
  });
  munmap(memory, kSize);
}

// All that `grow` gives, too.
StackBounds grown(StackBounds bounds) {
  for (uint64_t steps = 0; bounds.grow != nullptr && steps < 100000; ++steps) {
    const uint64_t high = bounds.grow(bounds.high);
    EXPECT_GE(high, bounds.high);
    if (high == bounds.high) {
      break;
    }
    bounds.high = high;
  }
  return bounds;
}

// Pages of untouched memory that were asked for since it was last given back: then they are there.
size_t pages_asked_for(char* memory, size_t bytes) {
  std::vector<unsigned char> pages(bytes / 4096);
  EXPECT_EQ(0, mincore(memory, bytes, pages.data()));
  EXPECT_EQ(0, madvise(memory, bytes, MADV_DONTNEED));
  return static_cast<size_t>(
      std::count_if(pages.begin(), pages.end(), [](unsigned char page) { return (page & 1) != 0; }));
}

// That a coroutine's stack does not reach the thread's own is found out once, of each of many.
TEST(StackBounds, OfCoroutinesBelowTheThreadsStackFewPagesAreAskedFor) {
  constexpr size_t kForeign = 4 << 20;
  constexpr size_t kOwn = 2 << 20;
  char* memory = static_cast<char*>(
      mmap(nullptr, kForeign + 4096 + kOwn, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_EQ(0, mprotect(memory + kForeign, 4096, PROT_NONE));
  madvise(memory, kForeign, MADV_NOHUGEPAGE);
  on_thread(kOwn, memory + kForeign + 4096, [&] {
    const auto first = reinterpret_cast<uint64_t>(memory) + 10000;
    EXPECT_LE(stack_bounds(first).high, first + 5 * 4096);
    EXPECT_GT(pages_asked_for(memory, kForeign), 1000u) << "all up to the one that cannot be read";
    for (uint64_t pointer = first; pointer < first + kForeign - 20000; pointer += 50000) {
      stack_bounds(pointer);
      EXPECT_LE(pages_asked_for(memory, kForeign), 5u) << pointer - first;
    }
    const uint64_t here = stack_pointer();
    EXPECT_GT(stack_bounds(here).high, here) << "its own";
    EXPECT_EQ(nullptr, stack_bounds(here).grow);
  });
  munmap(memory, kForeign + 4096 + kOwn);
}

// Memory for a coroutine, between two pages that cannot be read.
struct ForeignStack {
  static constexpr size_t kBytes = 256 * 1024;
  ForeignStack() {
    start = static_cast<char*>(mmap(nullptr, kBytes + 8192, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)) +
            4096;
    EXPECT_EQ(0, mprotect(start, kBytes, PROT_READ | PROT_WRITE));
  }
  ~ForeignStack() { munmap(start - 4096, kBytes + 8192); }
  ForeignStack(const ForeignStack&) = delete;
  ForeignStack& operator=(const ForeignStack&) = delete;
  uint64_t end() const { return reinterpret_cast<uint64_t>(start) + kBytes; }

  char* start;
};

TEST(StackBounds, OfAForeignStackEndAtItsGuardPage) {
  const ForeignStack stack;
  for (const uint64_t below : {uint64_t{8}, uint64_t{100}, uint64_t{4096}, uint64_t{5000}, uint64_t{100000},
                               uint64_t{ForeignStack::kBytes}}) {
    const uint64_t sp = (stack.end() - below) / 8 * 8;
    const StackBounds bounds = stack_bounds(sp);
    EXPECT_EQ(sp, bounds.low);
    EXPECT_LE(bounds.high, stack.end());
    EXPECT_GT(bounds.high, sp);
    const StackBounds all = grown(bounds);
    EXPECT_EQ(stack.end(), all.high);
    read_all(all);
  }
}

TEST(StackBounds, NothingOfAForeignStackIsRemembered) {
  in_child([] {
    uint64_t sp = 0;
    {
      const ForeignStack stack;
      sp = stack.end() - 4096;
      EXPECT_GT(stack_bounds(sp).high, sp);
    }
    const StackBounds gone = stack_bounds(sp);  // that memory went away
    EXPECT_LE(grown(gone).high, sp);
    const StackBounds own = stack_bounds(stack_pointer());
    EXPECT_EQ(nullptr, own.grow);
    EXPECT_LE(grown(stack_bounds(sp)).high, sp);
  });
}

TEST(StackBounds, OfAnyAddressAreReadable) {
  for (const uint64_t sp :
       {uint64_t{0}, uint64_t{8}, uint64_t{4096}, uint64_t{0x7fffffffeff8}, uint64_t{0x8000000000000000},
        uint64_t{0xffff800000000000}, uint64_t{UINT64_MAX} - 7, uint64_t{UINT64_MAX} - 4095}) {
    const StackBounds bounds = grown(stack_bounds(sp));
    if (bounds.high > bounds.low) {
      read_all(bounds);
    }
  }
}

uint64_t g_handler_high = 0;
uint64_t g_handler_low = 0;

void on_signal(int) {
  const StackBounds bounds = grown(stack_bounds(stack_pointer()));
  read_all(bounds);
  g_handler_low = bounds.low;
  g_handler_high = bounds.high;
}

TEST(StackBounds, OfASignalStackEndAtItsEnd) {
  in_child([] {
    const ForeignStack memory;
    stack_t alternative{};
    alternative.ss_sp = memory.start;
    alternative.ss_size = ForeignStack::kBytes;
    ASSERT_EQ(0, sigaltstack(&alternative, nullptr));
    struct sigaction action{};
    action.sa_handler = on_signal;
    action.sa_flags = SA_ONSTACK;
    ASSERT_EQ(0, sigaction(SIGUSR1, &action, nullptr));
    ASSERT_EQ(0, ::raise(SIGUSR1));
    EXPECT_GE(g_handler_low, reinterpret_cast<uint64_t>(memory.start));
    EXPECT_EQ(memory.end(), g_handler_high);
    alternative.ss_flags = SS_DISABLE;
    sigaltstack(&alternative, nullptr);
  });
}

ucontext_t g_main_context;
ucontext_t g_coroutine;

void in_coroutine() {
  on_signal(0);
  swapcontext(&g_coroutine, &g_main_context);
}

TEST(StackBounds, OfACoroutineEndAtItsEnd) {
  if (kSanitized) {
    GTEST_SKIP() << "the sanitizers do not follow swapcontext";
  }
  in_child([] {
    const ForeignStack memory;
    ASSERT_EQ(0, getcontext(&g_coroutine));
    g_coroutine.uc_stack.ss_sp = memory.start;
    g_coroutine.uc_stack.ss_size = ForeignStack::kBytes;
    g_coroutine.uc_link = nullptr;
    makecontext(&g_coroutine, in_coroutine, 0);
    ASSERT_EQ(0, swapcontext(&g_main_context, &g_coroutine));
    EXPECT_GE(g_handler_low, reinterpret_cast<uint64_t>(memory.start));
    EXPECT_EQ(memory.end(), g_handler_high);
    // The thread's own stack is found afterwards as before.
    EXPECT_EQ(nullptr, stack_bounds(stack_pointer()).grow);
  });
}

}  // namespace
}  // namespace memprof::stack_bounds_test
