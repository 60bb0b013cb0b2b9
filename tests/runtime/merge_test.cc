// SPDX-License-Identifier: Apache-2.0
#include "runtime/merge.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace memprof::runtimes::merge_test {
namespace {

using platform::Walk;

// Runs as lists of frame words, each with its boundary.
class ListedRuns {
 public:
  struct Run {
    uint64_t boundary;
  };
  using List = std::vector<std::pair<uint64_t, std::vector<uint64_t>>>;

  explicit ListedRuns(List list) : list_(std::move(list)) {}

  bool next(Run* run) {
    if (at_ == list_.size()) {
      return false;
    }
    *run = {list_[at_++].first};
    return true;
  }
  template <typename Add>
  bool each(const Add& add) const {
    for (const uint64_t frame : list_[at_ - 1].second) {
      if (!add(frame)) {
        return false;
      }
    }
    return true;
  }

 private:
  List list_;
  size_t at_ = 0;
};

constexpr char kHooks[16] = {};
constexpr NativeCode kCode{nullptr, kHooks, kHooks + sizeof(kHooks)};
// Frames 11, 12, ... 15, each with 100 bytes of stack from 1000 on.
constexpr uint64_t kFrames[] = {11, 12, 13, 14, 15};
constexpr uint64_t kPointers[] = {1000, 1100, 1200, 1300, 1400};

NativeStack native(uint32_t depth = 5, Walk reason = Walk::kRoot) {
  return {kFrames, kPointers, {depth, reason}, false, 1500, &kCode};
}

std::vector<uint64_t> merged(const ListedRuns::List& list, const NativeStack& stack, const Loop& loop = {},
                             uint32_t max_depth = 32, Walk* reason = nullptr) {
  ListedRuns runs(list);
  std::vector<uint64_t> out(max_depth);
  const platform::WalkResult result = merge_runs(&runs, loop, stack, out.data(), max_depth);
  out.resize(result.depth);
  if (reason != nullptr) {
    *reason = result.reason;
  }
  return out;
}

using Words = std::vector<uint64_t>;

TEST(Merge, AFrameIsFoundByAnAddressInItsMemory) {
  EXPECT_EQ(0u, find_frame(native(), 1000, 0));
  EXPECT_EQ(0u, find_frame(native(), 1099, 0));
  EXPECT_EQ(3u, find_frame(native(), 1300, 0));
  EXPECT_EQ(4u, find_frame(native(), 1400 + 1023, 0)) << "the last one has no known end";
  EXPECT_EQ(kNotFound, find_frame(native(), 1400 + 1024, 0));
  EXPECT_EQ(kNotFound, find_frame(native(), 1050, 1)) << "only from there on";
  EXPECT_EQ(kNotFound, find_frame(native(), 1450, 5));
  EXPECT_EQ(kNotFound, find_frame(native(), 999, 0));
  EXPECT_EQ(kNotFound, find_frame(native(), 0, 0));
  EXPECT_EQ(kNotFound, find_frame(native(0), 1000, 0));
}

TEST(Merge, RunsStandWhereTheirLoopsStand) {
  const ListedRuns::List list{{1150, {1, 2}}, {1350, {3}}};
  EXPECT_EQ((Words{11, 1, 2, 13, 3, 15}), merged(list, native()));
  EXPECT_EQ((Words{11, 1, 2, 12, 13, 3, 14, 15}), merged(list, native(), {true, false}));
  EXPECT_EQ((Words{1, 2, 3, 15}), merged(list, native(), {false, true})) << "one more above each loop";
}

TEST(Merge, RunsWithoutAPlaceFollow) {
  EXPECT_EQ((Words{11, 1, 13, 14, 15, 2, 3}), merged({{1150, {1}}, {5000, {2}}, {0, {3}}}, native()));
  Walk reason = Walk::kRoot;
  EXPECT_EQ((Words{11, 1, 2}), merged({{1150, {1}}, {1350, {2}}}, native(2, Walk::kNoRule), {}, 32, &reason));
  EXPECT_EQ(Walk::kNoRule, reason);
}

TEST(Merge, WithoutRunsItIsTheNativeStack) {
  EXPECT_EQ((Words{11, 12, 13, 14, 15}), merged({}, native()));
  uint64_t out[5];
  const platform::WalkResult left = leave_native(native(), out, 5);
  EXPECT_EQ((Words{11, 12, 13, 14, 15}), Words(out, out + left.depth));
  EXPECT_EQ(Walk::kDepthLimit, leave_native(native(), out, 4).reason);
}

TEST(Merge, OurHooksAreLeftOut) {
  const uint64_t frames[] = {11, reinterpret_cast<uint64_t>(kHooks), reinterpret_cast<uint64_t>(kHooks + 15),
                             reinterpret_cast<uint64_t>(kHooks + 16)};
  const NativeStack stack{frames, kPointers, {4, Walk::kRoot}, false, 1500, &kCode};
  EXPECT_EQ((Words{11, frames[3]}), merged({}, stack));
}

TEST(Merge, TheLimitEndsIt) {
  Walk reason = Walk::kRoot;
  EXPECT_EQ((Words{11, 1, 2}), merged({{1150, {1, 2, 3}}}, native(), {}, 3, &reason));
  EXPECT_EQ(Walk::kDepthLimit, reason);
  EXPECT_EQ((Words{11}), merged({{1350, {1}}}, native(), {}, 1, &reason));
  EXPECT_EQ(Walk::kDepthLimit, reason);
}

}  // namespace
}  // namespace memprof::runtimes::merge_test
