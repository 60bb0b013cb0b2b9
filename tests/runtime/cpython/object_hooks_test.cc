// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/object_hooks.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>

#include "core/engine/profiler.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "tests/support/engine.h"
#include "tests/support/python_fixtures.h"

namespace memprof::cpython {
namespace {

// An allocator that takes note of its calls; what it "passes on to malloc" ticks, as malloc's hook would.
struct Calls {
  int malloc, calloc, realloc, free;
  void* ctx;
} g_calls;
bool g_ticks = false;  // it passes everything on
bool g_fails = false;

void note(void* ctx, size_t size) {
  g_calls.ctx = ctx;
  if (g_ticks) {
    sampler_tick(size + 24);
  }
  errno = 77;
}
void* fake_malloc(void* ctx, size_t size) {
  ++g_calls.malloc;
  note(ctx, size);
  return g_fails ? nullptr : malloc(size);
}
void* fake_calloc(void* ctx, size_t count, size_t size) {
  ++g_calls.calloc;
  note(ctx, count * size);
  return g_fails ? nullptr : calloc(count, size);
}
void* fake_realloc(void* ctx, void* block, size_t size) {
  ++g_calls.realloc;
  note(ctx, size);
  return g_fails ? nullptr : realloc(block, size);
}
void fake_free(void* ctx, void* block) {
  ++g_calls.free;
  g_calls.ctx = ctx;
  free(block);
}

class ObjectHooks : public testing::Test {
 protected:
  ObjectHooks() {
    g_calls = {};
    g_ticks = g_fails = false;
    t_sampler.count = 1 << 20;
  }
  ~ObjectHooks() override { sampler_redraw(); }

  static Allocator hooks(Serving serving) {
    const HookSet* set = hook_set_for(kAllocator, serving);
    EXPECT_NE(nullptr, set);
    return hooked(kAllocator, *set);
  }
  // Bytes that the clock went by.
  template <typename Call>
  static uint64_t counted(const Call& call) {
    const uint64_t before = t_sampler.count;
    call();
    return before - t_sampler.count;
  }
  static uint64_t counted_malloc(const Allocator& a, size_t size) {
    return counted([&] { a.free(a.ctx, a.malloc(a.ctx, size)); });
  }
  static uint64_t counted_calloc(const Allocator& a, size_t count, size_t size) {
    return counted([&] { a.free(a.ctx, a.calloc(a.ctx, count, size)); });
  }
  static uint64_t counted_realloc(const Allocator& a, size_t size) {
    void* block = fake_malloc(nullptr, 10);
    t_sampler.count = 1 << 20;
    const uint64_t bytes = counted([&] { block = a.realloc(a.ctx, block, size); });
    a.free(a.ctx, block);
    return bytes;
  }

  static int g_context;
  static const Allocator kAllocator;
};
int ObjectHooks::g_context;
const Allocator ObjectHooks::kAllocator{&g_context, fake_malloc, fake_calloc, fake_realloc, fake_free};

TEST_F(ObjectHooks, OfAPoolCountWhatThePoolServes) {
  const Allocator a = hooks(Serving::kPool);
  EXPECT_EQ(1u, counted_malloc(a, 1));
  EXPECT_EQ(512u, counted_malloc(a, 512));
  EXPECT_EQ(0u, counted_malloc(a, 513));
  EXPECT_EQ(0u, counted_malloc(a, 0));
  EXPECT_EQ(512u, counted_calloc(a, 64, 8));
  EXPECT_EQ(0u, counted_calloc(a, 64, 9));
  EXPECT_EQ(512u, counted_realloc(a, 512));
  EXPECT_EQ(0u, counted_realloc(a, 513));
}

TEST_F(ObjectHooks, OfAPoolLeaveToMallocWhatGoesThere) {
  const Allocator a = hooks(Serving::kPool);
  g_ticks = true;
  EXPECT_EQ(1024u, counted_malloc(a, 1000));
  EXPECT_EQ(1024u, counted_calloc(a, 10, 100));
  EXPECT_EQ(1024u, counted_realloc(a, 1000));
  // A block of malloc's that becomes small stays malloc's: counted once, as it was asked for.
  EXPECT_EQ(100u, counted_realloc(a, 100));
}

TEST_F(ObjectHooks, OfAWholeAllocatorCountEveryBlock) {
  const Allocator a = hooks(Serving::kWhole);
  EXPECT_EQ(1u, counted_malloc(a, 1));
  EXPECT_EQ(100000u, counted_malloc(a, 100000));
  EXPECT_EQ(30000u, counted_calloc(a, 300, 100));
  EXPECT_EQ(3u, counted_realloc(a, 3));
  EXPECT_EQ(3000u, counted_realloc(a, 3000));
}

TEST_F(ObjectHooks, CarefulOnesCountOnceWhateverIsBelow) {
  const Allocator a = hooks(Serving::kCareful);
  for (const bool ticks : {false, true}) {
    g_ticks = ticks;
    EXPECT_EQ(1u, counted_malloc(a, 1));
    EXPECT_EQ(1000u, counted_malloc(a, 1000));
    EXPECT_EQ(1000u, counted_calloc(a, 10, 100));
    EXPECT_EQ(100u, counted_realloc(a, 100));
    EXPECT_EQ(1000u, counted_realloc(a, 1000));
  }
}

TEST_F(ObjectHooks, GoOnToWhatTheyStandInFrontOf) {
  for (const Serving serving : {Serving::kPool, Serving::kLender, Serving::kWhole, Serving::kCareful}) {
    const Allocator a = hooks(serving);
    EXPECT_EQ(&g_context, a.ctx);
    g_calls = {};
    int other_context = 0;  // a table that was read while it was being written
    void* block = a.malloc(&other_context, 8);
    EXPECT_EQ(&other_context, g_calls.ctx);
    EXPECT_EQ(77, errno);
    block = a.realloc(&g_context, block, 16);
    EXPECT_EQ(&g_context, g_calls.ctx);
    a.free(&g_context, block);
    a.free(&g_context, a.calloc(&g_context, 3, 4));
    a.free(&g_context, nullptr);
    EXPECT_EQ(1, g_calls.malloc);
    EXPECT_EQ(1, g_calls.calloc);
    EXPECT_EQ(1, g_calls.realloc);
    EXPECT_EQ(3, g_calls.free);
  }
}

// Recorded is what malloc's hooks saw: its free is seen there, too.
TEST_F(ObjectHooks, OfALenderRecordWhatMallocGave) {
  testing_support::in_child([] {
    ASSERT_EQ(Status::kOk, profiler::initialize(kDefaultLimits, 64 * 1024));
    ASSERT_EQ(Status::kOk, profiler::start());
    const Allocator a = hooks(Serving::kLender);
    EXPECT_EQ(&fake_free, a.free);
    for (const bool ticks : {true, false}) {
      g_ticks = ticks;
      t_sampler.count = 0;
      const uint64_t before = profiler::counters().samples;
      a.free(a.ctx, a.malloc(a.ctx, 64));
      EXPECT_EQ(before + ticks, profiler::counters().samples);
    }
  });
}

TEST_F(ObjectHooks, OverflowAndFailureAreTheAllocators) {
  g_fails = true;
  for (const Serving serving : {Serving::kPool, Serving::kLender, Serving::kWhole, Serving::kCareful}) {
    const Allocator a = hooks(serving);
    t_sampler.count = 1 << 20;
    EXPECT_EQ(0u, counted([&] { EXPECT_EQ(nullptr, a.calloc(a.ctx, SIZE_MAX / 2, 3)); }));
    for (const uint64_t count : {uint64_t{1} << 20, uint64_t{0}}) {  // and in a sampling event
      t_sampler.count = count;
      EXPECT_EQ(nullptr, a.malloc(a.ctx, 8));
      EXPECT_EQ(77, errno);
      t_sampler.count = count;
      EXPECT_EQ(nullptr, a.realloc(a.ctx, nullptr, 8));
    }
  }
}

TEST_F(ObjectHooks, AreMadeOnceForTheSameFunctions) {
  const HookSet* pool = hook_set_for(kAllocator, Serving::kPool);
  EXPECT_EQ(pool, hook_set_for(kAllocator, Serving::kPool));
  EXPECT_EQ(pool, existing_hook_set(kAllocator, Serving::kPool));
  const HookSet* careful = hook_set_for(kAllocator, Serving::kCareful);
  EXPECT_NE(pool, careful);
  EXPECT_EQ(pool, set_of_hooks(hooked(kAllocator, *pool)));
  EXPECT_EQ(careful, set_of_hooks(hooked(kAllocator, *careful)));
  EXPECT_EQ(nullptr, set_of_hooks(kAllocator));
  EXPECT_TRUE(is_object_hook(reinterpret_cast<uint64_t>(hooked(kAllocator, *careful).malloc)));
  EXPECT_TRUE(is_object_hook(reinterpret_cast<uint64_t>(hooked(kAllocator, *pool).malloc)));
  EXPECT_FALSE(is_object_hook(reinterpret_cast<uint64_t>(&fake_malloc)));
}

// They stay taken, so a child of this process takes them all.
TEST_F(ObjectHooks, ThereAreOnlySoManySets) {
  const auto take_all = [] {
    Allocator other = kAllocator;
    uint32_t made = 0;
    for (uint32_t i = 0; i < 2 * kMaxHookSets; ++i) {
      other.free = reinterpret_cast<void (*)(void*, void*)>(uintptr_t{0x1000} + i);  // never called
      made += hook_set_for(other, Serving::kWhole) != nullptr;
    }
    return made >= 1 && made <= kMaxHookSets && hook_set_for(other, Serving::kPool) == nullptr;
  };
  EXPECT_EXIT(_Exit(take_all() ? 0 : 1), testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace memprof::cpython
