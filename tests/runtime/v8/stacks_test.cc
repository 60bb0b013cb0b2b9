// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/stacks.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/engine/profiler.h"
#include "core/engine/runtimes.h"
#include "format/runtime_frame.h"
#include "memprof.h"
#include "runtime/v8/runtime.h"
#include "tests/runtime/v8/fake_engine.h"
#include "tests/support/engine.h"

namespace memprof::v8::stacks_test {
namespace {

using fakes::added;
using fakes::FakeEngine;
using fakes::g_state;
using testing_support::in_child;

constexpr uint64_t kBytecode = 0x1000000;
constexpr uint64_t kMachine = 0x2000000;
constexpr uint64_t kGlue = 0x500010;  // in V8's library
constexpr uint64_t kNative = 0x900000;

// A native stack with frames of 20 words each, in memory of the test's.
struct Stack {
  static constexpr uint64_t kWords = 20;
  std::vector<uint64_t> memory;
  std::vector<uint64_t> frames;
  std::vector<uint64_t> pointers;
  runtimes::NativeCode code{[](uint64_t) { return uint64_t{0}; }, nullptr, nullptr};
  bool has_signal_frame = false;

  explicit Stack(std::vector<uint64_t> addresses) : frames(std::move(addresses)) {
    memory.resize((frames.size() + 1) * kWords);
    for (size_t i = 0; i <= frames.size(); ++i) {
      pointers.push_back(reinterpret_cast<uint64_t>(&memory[i * kWords]));
    }
  }
  // The frame is the interpreter's: bytecode and offset lie where V8's lie.
  void interpret(size_t place, uint64_t bytecode, uint64_t offset) {
    uint64_t* const frame_pointer = &memory[(place + 1) * kWords - 2];
    frame_pointer[-4] = bytecode - 53 + 1;  // a tagged pointer to the array
    frame_pointer[-5] = (offset + 52) << 32;
  }
  std::string merged(uint32_t max_depth = 64) {
    const runtimes::NativeStack native{
        frames.data(),    pointers.data(), {static_cast<uint32_t>(frames.size()), platform::Walk::kRoot},
        has_signal_frame, pointers.back(), &code};
    std::vector<uint64_t> out(256);
    const platform::WalkResult result = merge_frames(running_thread(), native, out.data(), max_depth);
    std::string text;
    for (uint32_t i = 0; i < result.depth; ++i) {
      text += is_runtime_frame(out[i])
                  ? (runtime_of_unknown(code_of(out[i])) != 0 ? " ?"
                                                              : " js" + std::to_string(position_of(out[i])))
              : out[i] == kGlue ? " glue"
                                : " n";
    }
    return text;
  }
};

void start() {
  ASSERT_EQ(Status::kOk, profiler::initialize({1024, 256, 64}, 0));
  ASSERT_EQ(Status::kOk, profiler::start());
}

// f: lines 1 and 5 from offset 5; machine code of g, line 30.
void tell_code() {
  before_call(g_state.isolate);
  fakes::tell_positions(kBytecode, {{0, 50}, {5, 450}});
  fakes::tell(added(JitCodeEvent::kBytecode, kBytecode, 16, "JS:~f /srv/a.js:1:1"));
  fakes::tell(added(JitCodeEvent::kMachineCode, kMachine, 64, "JS:*g /srv/a.js:30:1"));
}

TEST(Stacks, FramesStandWhereV8ExecutesThem) {
  in_child([] {
    start();
    const FakeEngine engine;
    tell_code();
    g_state.frames = {kNative + 7, kBytecode + 6, kMachine + 20, kBytecode + 1};  // the first: an exit to C++
    Stack stack({kNative, kGlue, kGlue + 1, kMachine + 20, kGlue + 1, kGlue, kNative});
    stack.interpret(2, kBytecode, 6);
    stack.interpret(4, kBytecode, 1);
    EXPECT_EQ(" n js5 js30 js1 n", stack.merged());
  });
}

// V8 10.2 allocates while it holds a lock for which a sample would wait for ever.
TEST(Stacks, V8IsNotAskedWhileItHoldsItsLock) {
  in_child([] {
    start();
    const FakeEngine engine;
    tell_code();
    g_state.frames = {kMachine + 20};
    EXPECT_EQ(" n n n n", Stack({kNative, fakes::kEngine.locks[0] + 40, kMachine + 20, kNative}).merged());
    EXPECT_EQ(0, g_state.samples);
    EXPECT_EQ(" n n js30 n", Stack({kNative, fakes::kEngine.locks[0] - 40, kMachine + 20, kNative}).merged());
    EXPECT_EQ(1, g_state.samples);
  });
}

TEST(Stacks, WithoutARangeCompiledCodeLiesAnywhere) {
  in_child([] {
    start();
    const FakeEngine engine;
    g_state.compiled_bytes = 0;
    tell_code();
    g_state.frames = {kMachine + 20};
    EXPECT_EQ(" n js30 n", Stack({kNative, kMachine + 20, kNative}).merged());
  });
}

TEST(Stacks, ShownGlueStays) {
  in_child([] {
    start();
    const FakeEngine engine;
    tell_code();
    show_glue(true);
    g_state.frames = {kBytecode + 6};
    Stack stack({kNative, kGlue, kGlue, kGlue, kNative});
    stack.interpret(2, kBytecode, 6);
    EXPECT_EQ(" n glue js5 glue glue n", stack.merged());
  });
}

TEST(Stacks, WhatHasNoPlaceComesWithTheNextThatHasOne) {
  in_child([] {
    start();
    const FakeEngine engine;
    tell_code();
    g_state.frames = {kBytecode + 6, kMachine + 20, kBytecode + 1};
    EXPECT_EQ(" n js5 js30 n js1", Stack({kNative, kMachine + 20, kNative}).merged());
    EXPECT_EQ(" n js5 js30 js1", Stack({kNative}).merged()) << "the walk ended before";
  });
}

TEST(Stacks, CodeThatWasThereBeforeIsUnknownAndAskedFor) {
  in_child([] {
    start();
    const FakeEngine engine;
    tell_code();
    g_state.frames = {kBytecode + 6, kBytecode + 0x100};
    Stack stack({kNative, kGlue, kGlue, kNative});
    stack.interpret(1, kBytecode, 6);
    stack.interpret(2, kBytecode, 0x100);
    g_state.existing.push_back(
        {added(JitCodeEvent::kBytecode, kBytecode + 0x100, 9, "JS:~old node:fs:7:2"), nullptr});
    EXPECT_EQ(" n js5 ? n", stack.merged());
    g_state.options.clear();
    before_call(g_state.isolate);
    EXPECT_EQ(std::vector<int>{kAllCode}, g_state.options);
    EXPECT_EQ(" n js5 js7 n", stack.merged());
    before_call(g_state.isolate);
    EXPECT_EQ(1u, g_state.options.size());
  });
}

TEST(Stacks, OfNodesOwnScriptsAloneNothingIsAskedForALongTime) {
  in_child([] {
    start();
    const FakeEngine engine;
    tell_code();
    g_state.options.clear();
    g_state.frames = {kBytecode + 0x100};
    Stack stack({kNative, kGlue, kNative});
    stack.interpret(1, kBytecode, 0x100);
    for (int i = 0; i < 15; ++i) {
      EXPECT_EQ(" n ? n", stack.merged());
    }
    before_call(g_state.isolate);
    EXPECT_TRUE(g_state.options.empty());
    stack.merged();
    before_call(g_state.isolate);
    EXPECT_EQ(std::vector<int>{kAllCode}, g_state.options);
  });
}

TEST(Stacks, AThreadThatIsNotKnownAsksOnlyWithJavaScriptOnItsStack) {
  in_child([] {
    start();
    const FakeEngine engine;
    g_state.frames = {kBytecode + 6};
    EXPECT_EQ(" n n", Stack({kNative, kNative}).merged());
    EXPECT_TRUE(g_state.callbacks.empty()) << "it may work for the isolate in the background";
    EXPECT_EQ(" n glue n", Stack({kNative, kGlue, kNative}).merged());
    ASSERT_EQ(1u, g_state.callbacks.size());
    EXPECT_EQ(before_call, g_state.callbacks[0]);
  });
}

TEST(Stacks, TheMainThreadAsksInItsFirstEventWithAnIsolate) {
  in_child([] {
    const FakeEngine engine;
    runtimes::look_in_events(kRuntime, true);
    g_state.isolate = nullptr;
    look_at_thread();
    EXPECT_TRUE(g_state.callbacks.empty());
    EXPECT_NE(nullptr, runtimes::g_look.load());
    g_state.isolate = &g_state;
    look_at_thread();
    EXPECT_EQ(1u, g_state.callbacks.size());
    EXPECT_EQ(nullptr, runtimes::g_look.load());
  });
}

TEST(Stacks, InTheGarbageCollectorAndInSignalHandlersTheyAreNative) {
  in_child([] {
    start();
    const FakeEngine engine;
    tell_code();
    g_state.frames = {kMachine + 20};
    Stack stack({kNative, kMachine + 20, kNative});
    EXPECT_EQ(" n js30 n", stack.merged());
    g_state.vm_state = kStateGc;
    EXPECT_EQ(" n n n", stack.merged());
    g_state.vm_state = 0;
    stack.has_signal_frame = true;
    EXPECT_EQ(" n n n", stack.merged());
  });
}

TEST(Stacks, ADepthLimitHolds) {
  in_child([] {
    start();
    const FakeEngine engine;
    tell_code();
    g_state.frames = {kMachine + 20};
    EXPECT_EQ(" n js30", Stack({kNative, kMachine + 20, kNative}).merged(2));
    EXPECT_EQ(" n", Stack({kNative, kMachine + 20, kNative}).merged(1));
  });
}

TEST(Stacks, ThatTheyAreReadIsSaid) {
  in_child([] {
    start();
    const FakeEngine engine;
    tell_code();
    g_state.frames = {kMachine + 20};
    Stack({kNative, kMachine + 20, kNative}).merged();
    memprof_stats stats{};
    stats.struct_size = sizeof(stats);
    ASSERT_EQ(MEMPROF_OK, memprof_get_stats(&stats));
    EXPECT_EQ(uint32_t{MEMPROF_STACKS_READ}, stats.runtimes[MEMPROF_RUNTIME_V8 - 1].stacks);
    EXPECT_EQ(uint32_t{MEMPROF_STACKS_READ}, kStacksRead);
    EXPECT_EQ(uint32_t{MEMPROF_STACKS_UNCHECKED}, kStacksUnchecked);
    EXPECT_EQ(uint32_t{MEMPROF_RUNTIME_V8}, kRuntimeId);
  });
}

}  // namespace
}  // namespace memprof::v8::stacks_test
