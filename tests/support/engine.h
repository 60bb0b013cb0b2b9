// SPDX-License-Identifier: Apache-2.0
// What the tests of the engine share: threads that start together, a process of its own for each test that
// needs a fresh profiler, hooks without an interposer, and memory that ends at an inaccessible page.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "core/engine/recorder.h"
#include "core/sampling/sampled_filter.h"
#include "core/sampling/sampler.h"
#include "platform/stack.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define MEMPROF_TEST_SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define MEMPROF_TEST_SANITIZED 1
#endif
#endif
#ifndef MEMPROF_TEST_SANITIZED
#define MEMPROF_TEST_SANITIZED 0
#endif
#if defined(__SANITIZE_THREAD__)
#define MEMPROF_TEST_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MEMPROF_TEST_TSAN 1
#endif
#endif
#ifndef MEMPROF_TEST_TSAN
#define MEMPROF_TEST_TSAN 0
#endif

namespace memprof::testing_support {

inline constexpr bool kSanitized = MEMPROF_TEST_SANITIZED != 0;
inline constexpr bool kThreadSanitizer = MEMPROF_TEST_TSAN != 0;

// How often a long loop runs: sanitizers are 10 to 50 times slower.
inline constexpr uint64_t scaled(uint64_t n) {
  return kSanitized ? n / 20 : n;
}

// splitmix64: the tests' own source of randomness, with a fixed seed.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t next() {
    uint64_t z = (state_ += 0x9e3779b97f4a7c15ull);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t limit) { return next() % limit; }
  double uniform() { return static_cast<double>(next() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

// Runs f(0) ... f(count - 1) on threads of their own that begin together.
template <typename F>
void run_threads(int count, const F& f) {
  std::atomic<int> waiting{count};
  std::vector<std::thread> threads;
  for (int i = 0; i < count; ++i) {
    threads.emplace_back([&f, &waiting, i] {
      waiting.fetch_sub(1);
      while (waiting.load() != 0) {
        std::this_thread::yield();
      }
      f(i);
    });
  }
  for (std::thread& t : threads) {
    t.join();
  }
}

// Runs f in a fork child, where the profiler and the sampler are as at the start of a process.  Failed
// expectations there are printed by the child and fail the test here.
template <typename F>
void in_child(const F& f) {
  std::fflush(nullptr);
  const pid_t pid = fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    alarm(280);
    f();
    std::fflush(nullptr);
    _exit(::testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  ASSERT_EQ(pid, waitpid(pid, &status, 0));
  EXPECT_TRUE(WIFEXITED(status)) << "the child ended by signal " << WTERMSIG(status);
  EXPECT_EQ(0, WIFEXITED(status) ? WEXITSTATUS(status) : 0) << "the child's expectations failed";
}

// Makes the calling thread's clock repeatable.
inline void seed_sampler(uint64_t seed) {
  Random random(seed);
  t_sampler = {};
  t_sampler.random[0] = random.next();
  t_sampler.random[1] = random.next() | 1;
  const uint64_t mark = sampler_mark();
  t_sampler.seed_mark = mark != 0 ? mark : 2;
  sampler_redraw();
}

// A stack of one frame, which the walk believes: the entry of a hook is not checked.
struct FakeStack {
  explicit FakeStack(uint64_t return_address) : words{0, return_address} {}
  platform::Entry entry() const { return {words}; }
  // The caller's frame (none), the return address; zeros, which end the stack wherever a table may lead.
  uint64_t words[32];
};

// What the slow path of an interposer does, for a block at `address` that is not really allocated.
inline void hooked_allocation(const void* address, uint64_t size_bytes, const platform::Entry& entry) {
  if (!sampler_tick(size_bytes)) {
    return;
  }
  const SamplingEvent event = sampler_event(size_bytes);
  const bool recorded =
      event.sampled && profiler::record_allocation(address, size_bytes, event.rate_bytes, entry);
  profiler::count_cold_path(recorded, event.muted_bytes());
  sampler_resume(event);
}

inline void hooked_free(const void* address) {
  if (g_sampled_filter.may_contain(address) && g_sampled_filter.may_be(address)) {
    profiler::record_free(address);
  }
}

inline void* hooked_malloc(size_t size_bytes, uint64_t return_address) {
  void* block = std::malloc(size_bytes);
  const FakeStack stack(return_address);
  hooked_allocation(block, size_bytes, stack.entry());
  return block;
}

inline void hooked_real_free(void* block) {
  hooked_free(block);
  std::free(block);
}

inline uint64_t marked_filter_slots() {
  const auto* slots = static_cast<const std::atomic<uint8_t>*>(g_sampled_filter.memory());
  uint64_t marked = 0;
  for (size_t i = 0; i < SampledFilter::kSlots; ++i) {
    marked += slots[i].load(std::memory_order_relaxed) != 0;
  }
  return marked;
}

// `size_bytes` of memory, aligned to 8 bytes, followed by a page that cannot be touched (after at most 7
// bytes of slack).
class GuardedMemory {
 public:
  explicit GuardedMemory(size_t size_bytes) : size_(size_bytes) {
    constexpr size_t kPage = 4096;
    mapped_ = (size_bytes + kPage - 1) / kPage * kPage + kPage;
    void* p =
        mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED) {
      std::abort();
    }
    start_ = static_cast<uint8_t*>(p);
    if (mprotect(start_ + mapped_ - kPage, kPage, PROT_NONE) != 0) {
      std::abort();
    }
    data_ = start_ + mapped_ - kPage - (size_bytes + 7) / 8 * 8;
  }
  ~GuardedMemory() { munmap(start_, mapped_); }
  GuardedMemory(const GuardedMemory&) = delete;
  GuardedMemory& operator=(const GuardedMemory&) = delete;

  uint8_t* data() const { return data_; }
  size_t size() const { return size_; }

 private:
  size_t size_;
  size_t mapped_;
  uint8_t* start_;
  uint8_t* data_;
};

}  // namespace memprof::testing_support
