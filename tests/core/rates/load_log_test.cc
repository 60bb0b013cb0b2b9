// SPDX-License-Identifier: Apache-2.0
#include "core/rates/load_log.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

namespace memprof::load_log {
namespace {

constexpr double kNsPerByte = 10;

std::unique_ptr<LoadState> new_state() {
  return std::unique_ptr<LoadState>(new LoadState());
}

// Each mark stands where it should: within one sample of its step.
void expect_even(const LoadMarks& marks, double sample_bytes) {
  for (uint32_t i = 0; i < marks.count; ++i) {
    const double at = static_cast<double>(marks.step_bytes) * (i + 1) * kNsPerByte;
    EXPECT_NEAR(static_cast<double>(marks.at_ns[i]), at, sample_bytes * kNsPerByte + 1e-6 * at) << i;
  }
}

TEST(LoadLog, nothing_was_noted) {
  const LoadMarks marks = read(*new_state());
  EXPECT_EQ(marks.count, 0U);
  EXPECT_EQ(marks.step_bytes, 0U);
}

TEST(LoadLog, keeps_at_least_32_marks_of_any_number_of_bytes) {
  const auto state = new_state();
  constexpr uint64_t kSample = 5000;
  uint64_t bytes = 0;
  for (int i = 1; i <= 100'000; ++i) {
    bytes += kSample;
    count(state.get(), kSample, static_cast<uint64_t>(static_cast<double>(bytes) * kNsPerByte));
    if (i % 977 != 0) continue;
    const LoadMarks marks = read(*state);
    EXPECT_EQ(marks.bytes, bytes);
    EXPECT_EQ(marks.count, bytes / marks.step_bytes);
    if (bytes >= kLoadMarks * kFirstStepBytes) {
      EXPECT_GE(marks.count, kLoadMarks / 2);
    }
    expect_even(marks, kSample);
  }
}

TEST(LoadLog, one_sample_can_be_many_steps) {
  const auto state = new_state();
  count(state.get(), uint64_t{1} << 40, 5);
  const LoadMarks marks = read(*state);
  EXPECT_EQ(marks.bytes, uint64_t{1} << 40);
  EXPECT_EQ(marks.count * marks.step_bytes, uint64_t{1} << 40);
  for (uint32_t i = 0; i < marks.count; ++i) EXPECT_EQ(marks.at_ns[i], 5);
}

TEST(LoadLog, the_largest_sums_end_it) {
  const auto state = new_state();
  count(state.get(), UINT64_MAX / 2, 5);
  count(state.get(), 1000, 6);
  EXPECT_LE(read(*state).count, kLoadMarks);
}

TEST(LoadLog, threads_leave_no_mark_out) {
  const auto state = new_state();
  constexpr uint64_t kSample = 3000;
  constexpr int kEach = 50'000;
  std::vector<std::thread> threads;
  std::atomic<uint64_t> now{1};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) count(state.get(), kSample, now.fetch_add(1));
    });
  }
  LoadMarks marks;
  for (int i = 0; i < 1000; ++i) {
    marks = read(*state);
    for (uint32_t k = 1; k < marks.count; ++k) ASSERT_LE(marks.at_ns[k - 1], marks.at_ns[k]);
  }
  for (std::thread& thread : threads) thread.join();
  marks = read(*state);
  EXPECT_EQ(marks.bytes, 4 * kEach * kSample);
  EXPECT_EQ(marks.count, marks.bytes / marks.step_bytes);
}

TEST(LoadLog, garbage_reads_as_nothing_or_in_order) {
  const auto state = new_state();
  state->state.store(UINT64_MAX - 1);
  EXPECT_EQ(read(*state).count, 0U);
  count(state.get(), 1, 1);  // and is left alone
  const auto unordered = new_state();
  for (uint64_t i = 1; i <= 40; ++i) count(unordered.get(), kFirstStepBytes, i);
  unordered->at_ns[3].store(-1);
  unordered->at_ns[7].store(1e30F);
  unordered->at_ns[9].store(2);
  const LoadMarks marks = read(*unordered);
  for (uint32_t i = 1; i < marks.count; ++i) EXPECT_LE(marks.at_ns[i - 1], marks.at_ns[i]);
}

}  // namespace
}  // namespace memprof::load_log
