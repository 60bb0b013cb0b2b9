// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/objects.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>
#include <vector>

#include "core/engine/runtimes.h"
#include "core/sampling/sampler.h"
#include "runtime/cpython/object_hooks.h"
#include "tests/support/engine.h"
#include "tests/support/python_fixtures.h"

namespace memprof::cpython {
namespace {

using testing_support::PythonFixture;

enum { kRawDomain, kMemDomain, kObjectDomain };

// The fixture, attached to, and its calls.  malloc has no hooks in this process: its raw domain is hooked,
// too, as that of a Python with an allocator inside the executable.
class Objects : public testing::Test {
 protected:
  Objects() {
    set_allocators("pymalloc");
    initialize(1);
    take_part(1);
    runtimes::attach();
    t_sampler.count = 1 << 30;
  }
  ~Objects() override {
    sampler_redraw();
    set_allocators("pymalloc");
  }

  uint64_t counted(int domain, size_t size) {
    const uint64_t before = t_sampler.count;
    void* block = allocate(domain, size);
    const uint64_t bytes = before - t_sampler.count;
    release(domain, block);
    return bytes;
  }

  const PythonFixture python_;
  void (*set_allocators)(const char*) = python_.get<void(const char*)>("fake_set_allocators");
  void (*initialize)(int) = python_.get<void(int)>("fake_initialize");
  void (*take_part)(int) = python_.get<void(int)>("fake_take_part");
  void (*wrap)() = python_.get<void()>("fake_wrap");
  void (*unwrap)() = python_.get<void()>("fake_unwrap");
  void* (*allocate)(int, size_t) = python_.get<void*(int, size_t)>("fake_malloc");
  void* (*reallocate)(int, void*, size_t) = python_.get<void*(int, void*, size_t)>("fake_realloc");
  void (*release)(int, void*) = python_.get<void(int, void*)>("fake_free");
};

TEST_F(Objects, AreCountedOnceInEachDomain) {
  EXPECT_EQ(ObjectState::kHooked, object_state());
  EXPECT_EQ(100u, counted(kObjectDomain, 100));
  EXPECT_EQ(100u, counted(kMemDomain, 100));
  EXPECT_EQ(100u, counted(kRawDomain, 100));
  runtimes::attach();
  runtimes::attach();
  EXPECT_EQ(100u, counted(kObjectDomain, 100));
}

TEST_F(Objects, OfAllocatorsThatPythonReplacesGetHooksAtTheNextEvent) {
  for (const char* name : {"pymalloc_debug", "malloc_debug", "pymalloc", "malloc_debug", "pymalloc_debug"}) {
    SCOPED_TRACE(name);
    set_allocators(name);
    EXPECT_EQ(0u, counted(kObjectDomain, 100));
    EXPECT_TRUE(runtimes::g_look);
    runtimes::look_in_event();
    EXPECT_EQ(100u, counted(kObjectDomain, 100));
    EXPECT_EQ(100u, counted(kMemDomain, 100));
    EXPECT_EQ(ObjectState::kHooked, object_state());
  }
}

// tracemalloc.start and stop: our hooks are called by the wrapper, and come back.
TEST_F(Objects, AreCountedOnceUnderAWrapper) {
  wrap();
  runtimes::look_in_event();
  EXPECT_EQ(100u, counted(kObjectDomain, 100));
  runtimes::attach();
  EXPECT_EQ(100u, counted(kObjectDomain, 100));
  unwrap();
  runtimes::look_in_event();
  EXPECT_EQ(100u, counted(kObjectDomain, 100));
}

// Attached to while a wrapper was in place, which is then taken away with our hooks, and comes again.
TEST_F(Objects, AreCountedOnceWhenAWrapperGoesAndComes) {
  set_allocators("pymalloc");
  wrap();
  runtimes::attach();
  for (int i = 0; i < 20; ++i) {
    SCOPED_TRACE(i);
    runtimes::look_in_event();
    EXPECT_EQ(100u, counted(kObjectDomain, 100));
    unwrap();
    runtimes::look_in_event();
    EXPECT_EQ(100u, counted(kObjectDomain, 100));
    wrap();
  }
  unwrap();
}

TEST_F(Objects, OfAnInterpreterThatIsLoadedAgain) {
  EXPECT_EQ(100u, counted(kObjectDomain, 100));
  runtimes::before_unload();
  runtimes::look_in_event();  // reads nothing
  runtimes::after_unload();
  set_allocators("pymalloc");
  runtimes::look_in_event();
  EXPECT_EQ(100u, counted(kObjectDomain, 100));
}

TEST(ObjectsOfMany, InterpretersOneAfterTheOther) {
  const int loads = testing_support::kThreadSanitizer ? 10 : 20;  // (interpreter_test.cc)
  for (int i = 0; i < loads; ++i) {
    const PythonFixture python;
    python.get<void(const char*)>("fake_set_allocators")("pymalloc");
    runtimes::attach();
    t_sampler.count = 1 << 30;
    const uint64_t before = t_sampler.count;
    auto* block = python.get<void*(int, size_t)>("fake_malloc")(kObjectDomain, 64);
    EXPECT_EQ(64u, before - t_sampler.count) << i;
    python.get<void(int, void*)>("fake_free")(kObjectDomain, block);
    sampler_redraw();
  }
}

// Where malloc has hooks and the rate is large, a sample is a block of malloc's.
class LendingPool : public testing::Test {
 protected:
  LendingPool() {
    *malloc_hook_ = [](size_t size) { sampler_tick(size); };
    python_.get<void(const char*)>("fake_set_allocators")("pymalloc");
    python_.get<void(int)>("fake_initialize")(1);
    plain_ = table();
    runtimes::g_events_wanted = 0;  // of a test before
    sampler_set_rate(kMinLenderRateBytes);
    sampler_redraw();
    runtimes::attach();
  }
  ~LendingPool() override {
    *malloc_hook_ = nullptr;
    sampler_set_rate(rate_before_);
    sampler_redraw();
  }

  Allocator table() const {
    Allocator now;
    python_.get<void(int, Allocator*)>("PyMem_GetAllocator")(kObjectDomain, &now);
    return now;
  }
  // The next allocation is a sample.
  template <typename Call>
  static void* sampled(const Call& call) {
    t_sampler.count = 0;
    return call();
  }
  template <typename Call>
  static void* not_sampled(const Call& call) {
    t_sampler.count = 1 << 30;
    return call();
  }

  const uint64_t rate_before_ = sampler_rate();
  const PythonFixture python_;
  void (**malloc_hook_)(size_t) = python_.get<void (*)(size_t)>("fake_malloc_hook");
  void* (*allocate)(int, size_t) = python_.get<void*(int, size_t)>("fake_malloc");
  void* (*allocate_zeroed)(int, size_t, size_t) = python_.get<void*(int, size_t, size_t)>("fake_calloc");
  void* (*reallocate)(int, void*, size_t) = python_.get<void*(int, void*, size_t)>("fake_realloc");
  void (*release)(int, void*) = python_.get<void(int, void*)>("fake_free");
  int (*is_in_pool)(const void*) = python_.get<int(const void*)>("fake_is_in_pool");
  Allocator plain_;
};

TEST_F(LendingPool, HasNoHookOfFree) {
  EXPECT_NE(plain_.malloc, table().malloc);
  EXPECT_NE(plain_.realloc, table().realloc);
  EXPECT_EQ(plain_.free, table().free);
}

TEST_F(LendingPool, TakesSamplesFromMallocAndNothingElse) {
  for (const size_t size : {1, 64, 512}) {
    SCOPED_TRACE(size);
    void* block = not_sampled([&] { return allocate(kObjectDomain, size); });
    EXPECT_TRUE(is_in_pool(block));
    block = sampled([&] { return reallocate(kObjectDomain, block, size); });
    EXPECT_FALSE(is_in_pool(block));
    release(kObjectDomain, block);
    block = sampled([&] { return allocate(kObjectDomain, size); });
    EXPECT_FALSE(is_in_pool(block));
    release(kObjectDomain, block);
    block = sampled([&] { return allocate_zeroed(kObjectDomain, size, 1); });
    EXPECT_FALSE(is_in_pool(block));
    for (size_t i = 0; i < size; ++i) {
      ASSERT_EQ(0, static_cast<char*>(block)[i]);
    }
    release(kObjectDomain, block);
  }
}

TEST_F(LendingPool, CountsAReallocOnceWhereverTheBlockLies) {
  const auto counted = [&](void** block, size_t size) {
    t_sampler.count = 1 << 30;
    *block = reallocate(kObjectDomain, *block, size);
    return (1u << 30) - t_sampler.count;
  };
  void* block = nullptr;
  EXPECT_EQ(100u, counted(&block, 100));
  EXPECT_EQ(300u, counted(&block, 300));
  EXPECT_TRUE(is_in_pool(block));
  EXPECT_EQ(600u, counted(&block, 600));
  EXPECT_EQ(50u, counted(&block, 50));  // malloc's, and small
  EXPECT_FALSE(is_in_pool(block));
  release(kObjectDomain, block);
}

TEST_F(LendingPool, LeavesASampleThatCannotMoveWhereItIs) {
  int* const fails = python_.get<int>("fake_fail_realloc");
  void* block = allocate(kObjectDomain, 10);
  *fails = 2;
  block = sampled([&] { return reallocate(kObjectDomain, block, 20); });
  EXPECT_TRUE(is_in_pool(block));
  *fails = 1;
  EXPECT_EQ(nullptr, sampled([&] { return reallocate(kObjectDomain, block, 30); }));
  release(kObjectDomain, block);
}

TEST_F(LendingPool, KeepsItsSamplesAtASmallRate) {
  sampler_set_rate(kMinLenderRateBytes - 1);
  runtimes::attach();
  EXPECT_NE(plain_.free, table().free);
  void* block = sampled([&] { return allocate(kObjectDomain, 64); });
  EXPECT_TRUE(is_in_pool(block));
  release(kObjectDomain, block);
  // There may be samples in it now.
  sampler_set_rate(kMinLenderRateBytes);
  runtimes::attach();
  EXPECT_NE(plain_.free, table().free);
}

TEST_F(LendingPool, IsHookedAgainByAnEvent) {
  python_.get<void(int)>("fake_take_part")(1);
  python_.get<void(const char*)>("fake_set_allocators")("pymalloc");
  EXPECT_EQ(plain_.malloc, table().malloc);
  runtimes::look_in_event();
  EXPECT_NE(plain_.malloc, table().malloc);
  EXPECT_EQ(plain_.free, table().free);
}

// The debug allocator puts its own in front of a block: that is not the block that malloc gave.
TEST(DebugAllocators, DoNotLend) {
  const PythonFixture python;
  *python.get<void (*)(size_t)>("fake_malloc_hook") = [](size_t size) { sampler_tick(size); };
  python.get<void(const char*)>("fake_set_allocators")("pymalloc_debug");
  python.get<void(int)>("fake_initialize")(1);
  runtimes::attach();
  sampler_redraw();
  t_sampler.count = 0;
  void* block = python.get<void*(int, size_t)>("fake_malloc")(kObjectDomain, 64);
  EXPECT_TRUE(python.get<int(const void*)>("fake_is_in_pool")(block));
  python.get<void(int, void*)>("fake_free")(kObjectDomain, block);
  sampler_redraw();
}

// Before Python is initialized the first allocations are all events, so that a change is seen at once.
TEST(ObjectsBefore, InitializationAreWatchedFor) {
  const PythonFixture python;
  python.get<void(int)>("fake_initialize")(0);
  runtimes::g_events_wanted = 0;
  runtimes::attach();
  EXPECT_GT(runtimes::g_events_wanted, 0u);
  EXPECT_EQ(0u, t_sampler.count);
  const uint32_t left = runtimes::g_events_wanted;
  runtimes::after_event();
  EXPECT_EQ(left - 1, runtimes::g_events_wanted);
  EXPECT_EQ(0u, t_sampler.count);
  runtimes::g_events_wanted = 0;
  sampler_redraw();
}

TEST(ObjectsOff, NothingIsDone) {
  const PythonFixture python;
  const auto allocate = python.get<void*(int, size_t)>("fake_malloc");
  python.get<void(const char*)>("fake_set_allocators")("pymalloc");
  runtimes::configure({{runtimes::Use::kNothing}});
  runtimes::attach();
  runtimes::module_was_entered(reinterpret_cast<uint64_t>(allocate));
  runtimes::configure({});
  t_sampler.count = 1 << 30;
  const uint64_t before = t_sampler.count;
  python.get<void(int, void*)>("fake_free")(kObjectDomain, allocate(kObjectDomain, 64));
  EXPECT_EQ(before, t_sampler.count);
  sampler_redraw();
}

// Only one that can be the writer of the tables changes them.
TEST_F(Objects, AreLeftAloneByAThreadThatTakesNoPart) {
  const auto counted_after_look_of_thread = [&](int takes_part) {
    set_allocators("pymalloc_debug");
    std::thread([&] {
      take_part(takes_part);
      runtimes::look_in_event();
    }).join();
    return counted(kObjectDomain, 100);
  };
  EXPECT_EQ(0u, counted_after_look_of_thread(0));
  EXPECT_EQ(100u, counted_after_look_of_thread(1));
  // Until Python is initialized nobody does, and it is the thread that attached.
  initialize(0);
  EXPECT_EQ(0u, counted_after_look_of_thread(1));
  runtimes::look_in_event();
  EXPECT_EQ(100u, counted(kObjectDomain, 100));
}

// The tables are replaced repeatedly while threads look: no hook may be lost for good, or be doubled.
TEST_F(Objects, AreCountedOnceAfterThreadsRaced) {
  if (testing_support::kThreadSanitizer) {
    GTEST_SKIP() << "Python's own stores to its allocators are plain, and others look at them";
  }
  std::atomic<bool> stop{false};
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      while (!stop) {
        runtimes::look_in_event();
      }
    });
  }
  for (int i = 0; i < 3000; ++i) {
    set_allocators(i % 3 == 0 ? "pymalloc_debug" : "pymalloc");
    if (i % 16 == 0) {
      runtimes::attach();
    }
  }
  stop = true;
  for (std::thread& thread : threads) {
    thread.join();
  }
  set_allocators("pymalloc");
  runtimes::look_in_event();
  EXPECT_EQ(100u, counted(kObjectDomain, 100));
  EXPECT_EQ(100u, counted(kMemDomain, 100));
}

}  // namespace
}  // namespace memprof::cpython
