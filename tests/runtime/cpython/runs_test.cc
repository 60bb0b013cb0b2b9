// SPDX-License-Identifier: Apache-2.0
#include "runtime/cpython/runs.h"

#include <gtest/gtest.h>

#include <cstring>
#include <utility>
#include <vector>

namespace memprof::cpython::runs_test {
namespace {

constexpr uint8_t kOfThread = 0;
constexpr uint8_t kOfGenerator = 1;

// A thread of 3.11: as much of its structures as says which frames are in which run.
class Thread311 : public testing::Test {
 protected:
  struct Frame {
    alignas(8) char bytes[128] = {};
  };
  struct LoopState {  // _PyCFrame
    alignas(8) char bytes[32] = {};
  };

  void SetUp() override {
    interpreter_.version = 0x030b07f0;
    ASSERT_TRUE(find_layout(interpreter_, &layout_));
  }

  template <typename T, typename V>
  static void put(T* object, uint32_t offset, V value) {
    memcpy(object->bytes + offset, &value, sizeof(value));
  }

  void make(Frame* frame, const Frame* previous, bool is_entry, uint8_t owner = kOfThread) const {
    put(frame, layout_.frame_previous, previous);
    put(frame, layout_.frame_is_entry, static_cast<uint8_t>(is_entry));
    put(frame, layout_.frame_owner, owner);
  }

  void make(LoopState* state, const LoopState* previous, const Frame* frame) const {
    put(state, layout_.cframe_previous, previous);
    put(state, layout_.cframe_frame, frame);
  }

  // First frame and count of each run.
  std::vector<std::pair<const void*, uint32_t>> runs(const LoopState* innermost) {
    struct {
      alignas(8) char bytes[256] = {};
    } thread;
    put(&thread, layout_.thread_frame, innermost);
    Runs<DirectMemory, Pass::kLook> all(interpreter_, layout_, reinterpret_cast<uint64_t>(&thread),
                                        {0, UINT64_MAX});
    std::vector<std::pair<const void*, uint32_t>> found;
    for (cpython::Run run; found.size() < 10 && all.next(&run);) {
      found.emplace_back(reinterpret_cast<const void*>(run.first), run.count);
    }
    return found;
  }

  using Expected = std::vector<std::pair<const void*, uint32_t>>;

  Interpreter interpreter_{};
  Layout layout_{};
  LoopState root_, outer_, inner_;
  Frame main_, caller_, function_, leaf_;
};

TEST_F(Thread311, ARunEndsWithTheFrameThatTheLoopWasEnteredFor) {
  make(&root_, nullptr, nullptr);
  make(&outer_, &root_, &caller_);
  make(&inner_, &outer_, &leaf_);
  make(&main_, nullptr, true);
  make(&caller_, &main_, false);
  make(&function_, &caller_, true);
  make(&leaf_, &function_, false);
  EXPECT_EQ((Expected{{&leaf_, 2}, {&caller_, 2}}), runs(&inner_));
}

TEST_F(Thread311, GeneratorsThatAnExceptionIsThrownThroughAreNoRunsOfTheirOwn) {
  Frame generator;
  Frame other;
  make(&root_, nullptr, nullptr);
  make(&outer_, &root_, &other);
  make(&inner_, &outer_, &leaf_);
  make(&main_, nullptr, true);
  make(&caller_, &main_, false);
  // Both ran before, each in a loop of its own.
  make(&generator, &caller_, true, kOfGenerator);
  make(&other, &generator, true, kOfGenerator);
  make(&leaf_, &other, true, kOfGenerator);
  EXPECT_EQ((Expected{{&leaf_, 1}, {&other, 4}}), runs(&inner_));
}

TEST_F(Thread311, WhereStacksAreSwitchedAnEntryIsAnEntry) {
  make(&root_, nullptr, nullptr);
  make(&outer_, &root_, &main_);
  make(&inner_, &outer_, &leaf_);
  make(&main_, nullptr, true);
  // Not behind the frame that the loop before is at.
  make(&leaf_, &function_, true, kOfGenerator);
  make(&function_, nullptr, true);
  EXPECT_EQ((Expected{{&leaf_, 1}, {&main_, 1}}), runs(&inner_)) << "a generator's";
  // What is behind it may be gone: it is not looked at.
  make(&leaf_, reinterpret_cast<const Frame*>(uint64_t{1} << 46), true);
  EXPECT_EQ((Expected{{&leaf_, 1}, {&main_, 1}}), runs(&inner_)) << "a function's";
}

}  // namespace
}  // namespace memprof::cpython::runs_test
