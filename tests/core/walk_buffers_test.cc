// SPDX-License-Identifier: Apache-2.0
#include "core/walk_buffers.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <set>

#include "tests/support/engine.h"

namespace memprof::walk_buffers_test {
namespace {

using testing_support::run_threads;
using testing_support::scaled;

TEST(WalkBuffers, EachIsTakenOnceUntilItIsGivenBack) {
  const auto buffers = std::make_unique<WalkBuffers>();
  std::set<WalkBuffer*> taken;
  for (uint32_t i = 0; i < WalkBuffers::kCount; ++i) {
    WalkBuffer* buffer = buffers->take(&taken);
    ASSERT_NE(nullptr, buffer);
    EXPECT_TRUE(taken.insert(buffer).second);
    buffer->frames()[kMostDepth - 1] = i;
  }
  EXPECT_EQ(nullptr, buffers->take(&taken));
  WalkBuffer* one = *taken.begin();
  one->give_back();
  EXPECT_EQ(one, buffers->take(&taken));
}

TEST(WalkBuffers, AThreadFindsItsOwnAgain) {
  const auto buffers = std::make_unique<WalkBuffers>();
  int of_one = 0;
  WalkBuffer* first = buffers->take(&of_one);
  first->give_back();
  EXPECT_EQ(first, buffers->take(&of_one));
}

TEST(WalkBuffers, NoTwoThreadsHaveTheSame) {
  const auto buffers = std::make_unique<WalkBuffers>();
  std::atomic<uint32_t> wrong{0};
  run_threads(4, [&](uint64_t thread) {
    for (uint64_t i = 0; i < scaled(100000); ++i) {
      WalkBuffer* buffer = buffers->take(&i);
      if (buffer == nullptr) {
        ++wrong;  // four of sixteen
        continue;
      }
      uint64_t* frames = buffer->frames();
      frames[0] = frames[kMostDepth - 1] = thread;
      wrong += frames[0] != thread || frames[kMostDepth - 1] != thread;
      buffer->give_back();
    }
  });
  EXPECT_EQ(0u, wrong);
}

}  // namespace
}  // namespace memprof::walk_buffers_test
