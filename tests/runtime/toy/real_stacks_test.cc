// SPDX-License-Identifier: Apache-2.0
// Captures of the stacks of a program that runs: with the memory of walks (unwind/walk/walk_memory.h) they are what they are
// without it.
#include <alloca.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "core/engine/profiler.h"
#include "core/engine/runtimes.h"
#include "format/runtime_frame.h"
#include "platform/stack.h"
#include "tests/runtime/toy/toy.h"
#include "tests/support/engine.h"
#include "unwind/walk/step.h"
#include "unwind/walk/walk_memory.h"

namespace memprof::real_stacks_test {
namespace {

using testing_support::in_child;
using testing_support::Random;
using testing_support::scaled;
using unwind::WalkMemory;

constexpr uint32_t kMaxDepth = 256;

struct Captured {
  uint64_t frames[kMaxDepth];
  platform::WalkResult result;
};

bool operator==(const Captured& a, const Captured& b) {
  return a.result.depth == b.result.depth && a.result.reason == b.result.reason &&
         std::equal(a.frames, a.frames + a.result.depth, b.frames);
}

struct Seen {
  uint64_t captures = 0;
  uint64_t differences = 0;
  uint64_t with_runtime = 0;  // captures with frames of the toy's
  uint32_t deepest = 0;
  uint64_t left = 0;  // captures to come
  Random random{34};
};
Seen* g_seen;
volatile uint64_t g_sink;

// An owner is offered some of them.
std::vector<WalkMemory*> take_all() {
  constexpr uint64_t kEnough = 1000;
  std::vector<WalkMemory*> taken;
  for (uint64_t owner = 0; owner < kEnough && taken.size() < WalkMemory::kMemories; ++owner) {
    if (WalkMemory* const memory = WalkMemory::take(owner)) taken.push_back(memory);
  }
  EXPECT_EQ(WalkMemory::kMemories, taken.size());
  return taken;
}

// Whoever finds all memories taken walks without one.
[[gnu::noinline]] Captured capture_without(const platform::Entry& entry) {
  const std::vector<WalkMemory*> taken = take_all();
  Captured captured;
  captured.result = platform::capture_stack(entry, captured.frames, kMaxDepth);
  for (WalkMemory* const memory : taken) {
    memory->give_back();
  }
  return captured;
}

// Stands for a hook: what it returns to is the first frame.
[[gnu::noinline]] void capture() {
  const platform::Entry entry{__builtin_frame_address(0)};
  Captured with;
  with.result = platform::capture_stack(entry, with.frames, kMaxDepth);
  const Captured without = capture_without(entry);
  ++g_seen->captures;
  g_seen->differences += with == without ? 0 : 1;
  g_seen->deepest = std::max(g_seen->deepest, with.result.depth);
  g_seen->with_runtime += std::any_of(with.frames, with.frames + with.result.depth,
                                      [](uint64_t f) { return is_runtime_frame(f); })
                              ? 1
                              : 0;
  asm volatile("" ::: "memory");
}

void work(uint32_t depth);

// Frames of one size at one place, which return to other code.
template <uint32_t kNumber>
[[gnu::noinline]] void call(uint32_t depth) {
  work(depth);
  g_sink = g_sink + depth * kNumber;
}

[[gnu::noinline]] void call_with_room(uint32_t depth) {
  auto* const room = static_cast<char*>(alloca(16 + g_seen->random.below(2000)));
  room[0] = static_cast<char>(depth);
  asm volatile("" : : "r"(room) : "memory");
  work(depth);
  g_sink = g_sink + static_cast<uint64_t>(room[0]);
}

uint32_t g_depth_of_compare;
int compare(const void* a, const void* b) {
  if (g_seen->random.below(4) == 0) {
    const uint32_t depth = g_depth_of_compare;
    work(depth);
    g_depth_of_compare = depth;
  }
  return *static_cast<const int*>(a) - *static_cast<const int*>(b);
}

// Through the C library.
[[gnu::noinline]] void call_by_qsort(uint32_t depth) {
  int numbers[] = {3, 1, 2};
  g_depth_of_compare = depth;
  qsort(numbers, 3, sizeof(int), compare);
  g_sink = g_sink + static_cast<uint64_t>(numbers[0]);
}

[[gnu::noinline]] void call_by_sort(uint32_t depth) {
  std::vector<uint64_t> numbers(5);
  for (uint64_t& number : numbers) number = g_seen->random.next();
  uint32_t calls = 0;
  std::sort(numbers.begin(), numbers.end(), [&](uint64_t a, uint64_t b) {
    if (calls++ == 2) work(depth);
    return a < b;
  });
  g_sink = g_sink + numbers[0];
}

[[gnu::noinline]] void call_and_throw(uint32_t depth) {
  try {
    work(depth);
    throw std::runtime_error("back");
  } catch (const std::exception&) {
    capture();
  }
  g_sink = g_sink + 1;
}

[[gnu::noinline]] void call_by_function(uint32_t depth) {
  const std::function<void()> function = [depth] { work(depth); };
  function();
  g_sink = g_sink + depth;
}

[[gnu::noinline]] void call_toy(uint32_t depth);

// Calls and returns at random; captures on the way.
void work(uint32_t depth) {
  constexpr uint32_t kDeepest = 40;
  using Call = void (*)(uint32_t);
  constexpr Call kCalls[] = {call<3>,       call<5>,      call<7>,        call<11>,         call_with_room,
                             call_by_qsort, call_by_sort, call_and_throw, call_by_function, call_toy};
  do {
    if (g_seen->left == 0) return;
    // Not at each place: then the stack before was another one at the same depth.
    if (g_seen->random.below(2) == 0) {
      --g_seen->left;
      capture();
    }
    if (depth < kDeepest && g_seen->random.below(8) != 0) {
      kCalls[g_seen->random.below(std::size(kCalls))](depth + 1);
    }
  } while (g_seen->random.below(3) == 0);
}

uint32_t g_depth_of_toy;
void native() {
  work(g_depth_of_toy);
}

const toy::Function kInner{"inner",
                           "inner.toy",
                           10,
                           {{toy::Instruction::kNative, nullptr, native}, {toy::Instruction::kReturn}},
                           {1, 2}};
const toy::Function kOuter{
    "outer",
    "outer.toy",
    20,
    {{toy::Instruction::kCall, &kInner}, {toy::Instruction::kCall, &kInner}, {toy::Instruction::kReturn}},
    {1, 2, 3}};

// An activation of the toy's loop, on top of others.
[[gnu::noinline]] void call_toy(uint32_t depth) {
  g_depth_of_toy = depth;
  toy::run(depth % 2 == 0 ? kInner : kOuter);
  g_sink = g_sink + depth;
}

TEST(RealStacks, AreTheSameWithAMemoryAndWithout) {
  if (!unwind::kHasWalkMemory) GTEST_SKIP() << "walks on this processor have no memory";
  in_child([] {
    ASSERT_EQ(Status::kOk, profiler::initialize({1024, 256, 64}, 0));
    ASSERT_EQ(Status::kOk, profiler::start());
    runtimes::attach();
    Seen seen;
    g_seen = &seen;
    const auto run_for = [&seen](uint64_t captures) {
      seen.left = captures;
      while (seen.left != 0) {
        g_depth_of_toy = 0;
        toy::run(kOuter);
      }
    };
    run_for(scaled(20000));
    // Stacks of other threads, which find what this one's walks remembered.
    for (int i = 0; i < 4; ++i) {
      std::thread([&run_for] { run_for(scaled(2000)); }).join();
      run_for(scaled(500));
    }
    EXPECT_GE(seen.captures, scaled(30000));
    EXPECT_EQ(0u, seen.differences);
    EXPECT_GT(seen.deepest, 60u);
    EXPECT_GT(seen.with_runtime, seen.captures / 2);
    uint32_t remembered = 0;
    for (WalkMemory* const memory : take_all()) {
      const WalkMemory::Bank& last = memory->before();
      for (uint32_t i = 0; i < last.count; ++i) {
        remembered += last.saved_at[i] != WalkMemory::kNotRemembered ? 1 : 0;
      }
    }
    EXPECT_GT(remembered, 0u) << "no walk used its memory";
  });
}

}  // namespace
}  // namespace memprof::real_stacks_test
