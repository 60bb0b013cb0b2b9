// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/mixed_stack.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/engine/profiler.h"
#include "format/runtime_frame.h"
#include "platform/linux/stack/hook_section.h"
#include "runtime/cpython/runs.h"
#include "tests/support/engine.h"
#include "tests/support/fake_python.h"

namespace memprof::cpython::mixed_stack_test {
namespace {

using platform::kFramesLeftOut;
using platform::Walk;
using platform::WalkResult;
using runtimes::NativeStack;
using testing_support::FakePython;
using testing_support::in_child;

constexpr runtimes::NativeCode kCode{nullptr, __start_memprof_hooks, __stop_memprof_hooks};

// A C stack of frames of 32 words; frame i has the address 0x400000 + 0x1000 * i.
class FakeStack {
 public:
  explicit FakeStack(uint32_t depth) : memory_(32 * (depth + 1)) {
    for (uint32_t i = 0; i < depth; ++i) {
      frames_.push_back(0x400000 + 0x1000 * uint64_t{i});
      pointers_.push_back(reinterpret_cast<uint64_t>(&memory_[32 * i]));
    }
  }
  void set_frame(uint32_t i, uint64_t address) { frames_[i] = address; }
  // Room in native frame i.
  void* place_in(uint32_t i) { return &memory_[32 * i + 4]; }

  NativeStack native(Walk reason = Walk::kRoot, bool has_signal_frame = false) const {
    return {frames_.data(),
            pointers_.data(),
            {static_cast<uint32_t>(frames_.size()), reason},
            has_signal_frame,
            reinterpret_cast<uint64_t>(memory_.data() + memory_.size()),
            &kCode};
  }

 private:
  std::vector<uint64_t> memory_;
  std::vector<uint64_t> frames_;
  std::vector<uint64_t> pointers_;
};

class Fixture {
 public:
  Fixture() { profiler::initialize({1024, 256, 64}, 1024); }

  RunningThread thread(uint64_t frame, bool has_tail_calls = false) {
    return {&python.interpreter, &python.layout, python.thread(frame), true, has_tail_calls};
  }

  // "0" for native frame 0, the function's name for a Python frame.
  std::string merge(const RunningThread& running, const NativeStack& native, uint32_t max_depth = 64,
                    Walk* reason = nullptr) {
    std::vector<uint64_t> out(max_depth);
    const WalkResult walk = merge_frames(running, native, out.data(), max_depth);
    std::string text;
    for (uint32_t i = 0; i < walk.depth; ++i) {
      text += text.empty() ? "" : " ";
      if (is_runtime_frame(out[i])) {
        const CodeEntry& e =
            *profiler::arena().at<CodeEntry>(kCodeSection, code_of(out[i]) * sizeof(CodeEntry));
        text += profiler::arena().at<char>(
            kTextSection,
            TextPiece::place(
                profiler::arena().at<NameEntry>(kNameSection, e.function * sizeof(NameEntry))->piece));
      } else {
        text += out[i] == kFramesLeftOut ? "..." : std::to_string((out[i] - 0x400000) / 0x1000);
      }
    }
    if (reason != nullptr) {
      *reason = walk.reason;
    }
    return text;
  }

  FakePython python;
};

TEST(MixedStack, ARunStandsWhereItsLoopStands) {
  in_child([] {
    Fixture x;
    FakeStack stack(8);
    const uint64_t outer_entry = x.python.entry_frame(stack.place_in(6), 0);
    const uint64_t main = x.python.frame(x.python.code("main"), outer_entry);
    const uint64_t entry = x.python.entry_frame(stack.place_in(2), main);
    const uint64_t g = x.python.frame(x.python.code("g"), entry);
    const uint64_t f = x.python.frame(x.python.code("f"), g);
    EXPECT_EQ("0 1 f g 3 4 5 main 7", x.merge(x.thread(f), stack.native()));
    cpython::show_evaluation_loop(true);
    EXPECT_EQ("0 1 f g 2 3 4 5 main 6 7", x.merge(x.thread(f), stack.native()));
  });
}

TEST(MixedStack, AThreadThatIsNotAttachedIsReadWithCare) {
  in_child([] {
    Fixture x;
    FakeStack stack(6);
    static int is_finalizing = 0;
    x.python.interpreter.is_finalizing = [] { return is_finalizing; };
    const uint64_t entry = x.python.entry_frame(stack.place_in(3), 0);
    uint64_t frame = entry;
    std::string names;
    for (int i = 0; i < 40; ++i) {
      const std::string name = "f" + std::to_string(i);
      frame = x.python.frame(x.python.code(name), frame);
      names.insert(0, " " + name);
    }
    RunningThread thread = x.thread(frame);
    thread.is_attached = false;
    EXPECT_EQ("0 1 2" + names + " 4 5", x.merge(thread, stack.native()));
    // Its memory is gone, or something else.
    const testing_support::GuardedMemory memory(8);
    RunningThread gone = thread;
    gone.state = reinterpret_cast<uint64_t>(memory.data()) + 8;
    EXPECT_EQ("0 1 2 3 4 5", x.merge(gone, stack.native()));
    uint64_t rubbish[64];
    for (uint64_t& word : rubbish) {
      word = reinterpret_cast<uint64_t>(memory.data()) + 8;
    }
    gone.state = reinterpret_cast<uint64_t>(rubbish);
    EXPECT_EQ("0 1 2 3 4 5", x.merge(gone, stack.native()));
    // The interpreter began to end while the frames were read.
    is_finalizing = 1;
    EXPECT_EQ("0 1 2 3 4 5", x.merge(thread, stack.native()));
    x.python.interpreter.is_finalizing = nullptr;
    EXPECT_EQ("0 1 2 3 4 5", x.merge(thread, stack.native())) << "nobody can tell";
  });
}

// As that of an object's realloc, which goes on to malloc's.
TEST(MixedStack, AFrameOfOurOwnHooksIsLeftOut) {
  in_child([] {
    Fixture x;
    FakeStack stack(6);
    const auto hook = reinterpret_cast<uint64_t>(__start_memprof_hooks) + 1;
    ASSERT_TRUE(platform::is_hook_address(hook));
    stack.set_frame(1, hook);
    const uint64_t entry = x.python.entry_frame(stack.place_in(3), 0);
    const uint64_t f = x.python.frame(x.python.code("f"), entry);
    EXPECT_EQ("0 2 f 4 5", x.merge(x.thread(f), stack.native()));
  });
}

TEST(MixedStack, WithTailCallsTheInstructionAboveTheLoopGoesToo) {
  in_child([] {
    Fixture x;
    FakeStack stack(6);
    const uint64_t entry = x.python.entry_frame(stack.place_in(3), 0);
    const uint64_t f = x.python.frame(x.python.code("f"), entry);
    EXPECT_EQ("0 1 f 4 5", x.merge(x.thread(f, true), stack.native()));
  });
}

TEST(MixedStack, FramesThatDoNotRunYetAreLeftOut) {
  in_child([] {
    Fixture x;
    FakeStack stack(4);
    const uint64_t entry = x.python.entry_frame(stack.place_in(2), 0);
    const uint64_t main = x.python.frame(x.python.code("main"), entry);
    const uint64_t trampoline = x.python.frame(x.python.code("trampoline"), main, 20, 3);
    const uint64_t begun = x.python.frame(x.python.code("begun"), trampoline, 0);
    EXPECT_EQ("0 1 main 3", x.merge(x.thread(begun), stack.native()));
    // A generator that was not started is complete all the same.
    const uint64_t generator = x.python.frame(x.python.code("generator"), main, 0, 1);
    EXPECT_EQ("0 1 generator main 3", x.merge(x.thread(generator), stack.native()));
  });
}

TEST(MixedStack, ALoopWithoutFramesIsLeftOutToo) {
  in_child([] {
    Fixture x;
    FakeStack stack(6);
    const uint64_t outer_entry = x.python.entry_frame(stack.place_in(4), 0);
    const uint64_t main = x.python.frame(x.python.code("main"), outer_entry);
    const uint64_t entry = x.python.entry_frame(stack.place_in(1), main);
    EXPECT_EQ("0 2 3 main 5", x.merge(x.thread(entry), stack.native()));
  });
}

TEST(MixedStack, WhereTheNativeWalkEndedEarlyThePythonFramesFollow) {
  in_child([] {
    Fixture x;
    FakeStack stack(12);
    const uint64_t outer_entry = x.python.entry_frame(stack.place_in(9), 0);
    const uint64_t main = x.python.frame(x.python.code("main"), outer_entry);
    const uint64_t entry = x.python.entry_frame(stack.place_in(2), main);
    const uint64_t f = x.python.frame(x.python.code("f"), entry);
    NativeStack native = stack.native(Walk::kNoRule);
    native.walk.depth = 5;
    Walk reason = Walk::kRoot;
    EXPECT_EQ("0 1 f 3 4 main", x.merge(x.thread(f), native, 64, &reason));
    EXPECT_EQ(Walk::kNoRule, reason);
    native.walk.depth = 3;  // it ended in the loop
    EXPECT_EQ("0 1 f main", x.merge(x.thread(f), native));
  });
}

TEST(MixedStack, ADeepStackKeepsBothEnds) {
  in_child([] {
    Fixture x;
    FakeStack stack(3);
    uint64_t frame = x.python.entry_frame(stack.place_in(1), 0);
    const uint64_t f = x.python.code("f");
    frame = x.python.frame(x.python.code("main"), frame);
    for (int i = 0; i < 200; ++i) {
      frame = x.python.frame(f, frame);
    }
    Walk reason = Walk::kRoot;
    const std::string text = x.merge(x.thread(frame), stack.native(), 64, &reason);
    EXPECT_EQ(0u, text.find("0 f f f "));
    EXPECT_NE(std::string::npos, text.find(" f ... f "));
    EXPECT_EQ(text.size() - 7, text.find(" main 2"));
    EXPECT_EQ(Walk::kMiddleLeftOut, reason);
  });
}

TEST(MixedStack, AfterASignalNothingIsBelieved) {
  in_child([] {
    Fixture x;
    FakeStack stack(4);
    const uint64_t entry = x.python.entry_frame(stack.place_in(2), 0);
    const uint64_t main = x.python.frame(x.python.code("main"), entry);
    const uint64_t broken = x.python.frame(x.python.code("broken"), 0x7ffff0000000);
    EXPECT_EQ("0 1 main 3", x.merge(x.thread(main), stack.native(Walk::kRoot, true)));
    const std::string text = x.merge(x.thread(broken), stack.native(Walk::kRoot, true));
    EXPECT_EQ("0 1 2 3", text.substr(0, 7));
  });
}

TEST(MixedStack, FramesThatGoInACircleEnd) {
  in_child([] {
    Fixture x;
    FakeStack stack(3);
    const uint64_t a = x.python.frame(x.python.code("a"), 0);
    const uint64_t b = x.python.frame(x.python.code("b"), a);
    FakePython::put(a + x.python.layout.frame_previous, b);
    Walk reason = Walk::kRoot;
    x.merge(x.thread(b), stack.native(), 64, &reason);
    EXPECT_EQ(Walk::kDepthLimit, reason);
  });
}

}  // namespace
}  // namespace memprof::cpython::mixed_stack_test
