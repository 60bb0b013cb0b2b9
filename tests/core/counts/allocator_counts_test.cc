// SPDX-License-Identifier: Apache-2.0
// What allocators say of themselves: asked as they want it, when it is due, by one thread.
#include "core/counts/allocator_counts.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "platform/clock.h"
#include "tests/support/arena.h"

namespace memprof::counts {
namespace {

std::map<std::string, size_t>* g_answers;
int g_asked;
bool g_calls_itself;

// As jemalloc's: the values are those of the last epoch.
// As the function is declared.  NOLINTNEXTLINE(readability-non-const-parameter)
int fake_mallctl(const char* name, void* old_value, size_t* old_size, void* new_value, size_t new_size) {
  if (std::strcmp(name, "epoch") == 0) {
    ++g_asked;
    return new_value != nullptr && new_size == sizeof(uint64_t) ? 0 : 22;
  }
  const auto found = g_answers->find(name);
  if (found == g_answers->end() || *old_size != sizeof(size_t)) return 2;
  std::memcpy(old_value, &found->second, sizeof(size_t));
  return 0;
}

int fake_property(const char* name, size_t* value) {
  const auto found = g_answers->find(name);
  if (std::strcmp(name, "generic.heap_size") == 0) ++g_asked;
  if (found == g_answers->end()) return 0;
  *value = found->second;
  return 1;
}

template <typename Function>
const void* address_of(Function* function) {
  return reinterpret_cast<const void*>(reinterpret_cast<uintptr_t>(function));
}

// As that of a jemalloc inside a module; its place in the arena is another's afterwards.
struct FakeSource : Source {
  FakeSource() : Source{} {
    interface = Interface::kMallctl;
    function = address_of(fake_mallctl);
    code = {[](const void*, uint64_t) { return g_calls_itself; }, nullptr};
  }
  FakeSource(const FakeSource&) = delete;
  FakeSource& operator=(const FakeSource&) = delete;
  ~FakeSource() { forget(this); }
};

// From a hook that the test has called.
void ask_at(Source* source, uint64_t now_ns) {
  ask_when_due(source, now_ns, {__builtin_frame_address(0)});
}

class AllocatorCountsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    g_answers = &answers_;
    g_asked = 0;
    g_calls_itself = false;
    answers_ = {{"stats.allocated", 60'000},
                {"stats.active", 100'000},
                {"stats.metadata", 4'000},
                {"arenas.page", 4096},
                {"stats.arenas.4096.tcache_bytes", 500},
                {"stats.arenas.4096.pdirty", 3},
                {"generic.current_allocated_bytes", 57'000},
                {"generic.heap_size", 120'000},
                {"generic.total_physical_bytes", 123'000}};
    configure(true);
    attach(arena_);
  }
  void TearDown() override { g_answers = nullptr; }

  AllocatorCounts counted() const { return read(arena_.header().counted); }

  std::map<std::string, size_t> answers_;
  const Arena arena_ = Arena::create(Limits{1024, 256, 64});
};

TEST_F(AllocatorCountsTest, JemallocsFreeMemoryIsInSlabsInCachesAndDirty) {
  CountedAllocator answer{};
  ASSERT_TRUE(ask(Interface::kMallctl, address_of(fake_mallctl), &answer));
  EXPECT_EQ(59'500u, answer.used_bytes.load());
  EXPECT_EQ(40'000u + 500 + 3 * 4096, answer.free_bytes.load());
  EXPECT_EQ(4'000u, answer.tables_bytes.load());
  EXPECT_EQ(kResidentJemalloc, answer.state.load());
}

TEST_F(AllocatorCountsTest, TcmallocsIsWhatItsHeapHasBesidesBlocks) {
  CountedAllocator answer{};
  ASSERT_TRUE(ask(Interface::kNumericProperty, address_of(fake_property), &answer));
  EXPECT_EQ(57'000u, answer.used_bytes.load());
  EXPECT_EQ(63'000u, answer.free_bytes.load());
  EXPECT_EQ(3'000u, answer.tables_bytes.load());
  EXPECT_EQ(kResidentTcmalloc, answer.state.load());
}

TEST_F(AllocatorCountsTest, WithoutStatisticsThereIsNoAnswer) {
  CountedAllocator answer{};
  answers_.erase("stats.active");  // jemalloc --disable-stats
  EXPECT_FALSE(ask(Interface::kMallctl, address_of(fake_mallctl), &answer));
  answers_.erase("generic.heap_size");
  EXPECT_FALSE(ask(Interface::kNumericProperty, address_of(fake_property), &answer));
  EXPECT_FALSE(ask(Interface::kNone, nullptr, &answer));
  EXPECT_EQ(0u, answer.state.load());
}

TEST_F(AllocatorCountsTest, AskedWhenItIsDue) {
  FakeSource source;
  ask_at(&source, 1'000);
  ask_at(&source, 1'000 + kPauseNs - 1);
  EXPECT_EQ(0, g_asked) << "a small and young process is spared the first question";
  EXPECT_EQ(0u, counted().time_ns);
  ask_at(&source, 1'000 + kPauseNs);
  EXPECT_EQ(1, g_asked);
  const AllocatorCounts first = counted();
  EXPECT_EQ(1'000 + kPauseNs, first.time_ns);
  EXPECT_EQ(59'500u, first.used_bytes);
  EXPECT_EQ(kResidentJemalloc, first.state);
  EXPECT_FALSE(first.has_malloc);
  ask_at(&source, 1'001 + kPauseNs);
  EXPECT_EQ(1, g_asked);
  ask_at(&source, UINT64_MAX - 1);
  EXPECT_EQ(2, g_asked);
  source.due_ns.store(UINT64_MAX);  // somebody asks
  ask_at(&source, UINT64_MAX - 1);
  EXPECT_EQ(2, g_asked);
}

TEST_F(AllocatorCountsTest, NotWhileItCallsItself) {
  FakeSource source;
  g_calls_itself = true;
  ask_at(&source, 1'000);
  ask_at(&source, 1'000 + kPauseNs);
  EXPECT_EQ(0, g_asked);
  g_calls_itself = false;
  ask_at(&source, 1'000 + 2 * kPauseNs - 1);
  EXPECT_EQ(0, g_asked);
  ask_at(&source, 1'000 + 2 * kPauseNs);
  EXPECT_EQ(1, g_asked);
  source.code = {};
  ask_at(&source, UINT64_MAX - 1);
  EXPECT_EQ(1, g_asked) << "whose code is not known";
}

TEST_F(AllocatorCountsTest, AskedWhenWhatLivesHasChanged) {
  FakeSource source;
  auto& live = arena_.header().statistics.live_weight_bytes;
  const uint64_t now = platform::monotonic_ns();
  ask_at(&source, now);
  EXPECT_EQ(0, g_asked);
  live.store(kSmallBytes);
  ask_at(&source, now + 1);
  EXPECT_EQ(1, g_asked) << "it is not small any more";
  live.store(kSmallBytes + kSmallBytes / kMoved - 1);
  ask_at(&source, now + 2);
  EXPECT_EQ(1, g_asked);
  live.store(kSmallBytes + kSmallBytes / kMoved);
  ask_at(&source, now + 3);
  EXPECT_EQ(2, g_asked);
  live.store(kSmallBytes - kSmallBytes / kMoved);
  ask_at(&source, now + 4);
  EXPECT_EQ(3, g_asked) << "less lives, too";
}

TEST_F(AllocatorCountsTest, AskingHasABound) {
  FakeSource source;
  auto& live = arena_.header().statistics.live_weight_bytes;
  live.store(kSmallBytes);
  ask_at(&source, 1);
  ASSERT_EQ(1, g_asked);
  source.cost_ns = kMaxCreditNs / 10;  // as if it had been so dear
  source.credit_ns = kMaxCreditNs / 20;
  live.store(8 * kSmallBytes);
  ask_at(&source, 2);
  EXPECT_EQ(1, g_asked) << "there is no credit";
  const uint64_t due = source.due_ns.load();
  EXPECT_GE(due, kMaxCreditNs / 20 * kShare);
  EXPECT_LE(due, kMaxCreditNs / 20 * kShare + 10);
  ask_at(&source, due);
  EXPECT_EQ(2, g_asked) << "a thousand times what it costs later there is";
}

TEST_F(AllocatorCountsTest, SeveralAddUpAndOneThatIsGoneDoesNot) {
  constexpr int kInModules = CountedState::kPlaces - 1;  // a place is malloc's
  // Modules come and go: places of those that went are taken again.
  for (int round = 1; round <= 3; ++round) {
    FakeSource sources[CountedState::kPlaces];
    for (Source& source : sources) {
      source.due_ns.store(1);
      ask_at(&source, 2);
    }
    EXPECT_EQ(kInModules * round, g_asked);
    EXPECT_EQ(59'500u * kInModules, counted().used_bytes);
    for (Source& source : sources) forget(&source);
    EXPECT_EQ(0u, counted().time_ns);
    EXPECT_EQ(0u, counted().used_bytes);
  }
}

TEST_F(AllocatorCountsTest, TurnedOffNobodyIsAsked) {
  FakeSource source;
  source.due_ns.store(1);
  configure(false);
  ask_at(&source, 2);
  EXPECT_EQ(0, g_asked);
}

ResidentMemory memory() {
  ResidentMemory m;
  m.total_bytes = 100'000;
  m.heap_bytes = 80'000;
  m.free_bytes = 5'000;
  return m;
}

TEST(AddCounts, WhatAnAllocatorCountsAsFreeIsPartOfTheHeap) {
  ResidentMemory m = memory();
  add_counts({1'000, kResidentJemalloc, true, 60'000, 12'000, 700}, 3'500, &m);
  EXPECT_EQ(17'000u, m.free_bytes);
  EXPECT_EQ(60'000u, m.counted_bytes);
  EXPECT_EQ(700u, m.tables_bytes);
  EXPECT_EQ(2'500u, m.counted_age_ns);
  EXPECT_EQ(kResidentFreeKnown | kResidentJemalloc | kResidentCounted, m.state);
  m.live_bytes = 50'000;
  m.slack_bytes = 1'000;
  EXPECT_DOUBLE_EQ(m.unexplained_bytes() - 9'000, m.unexplained_by_count_bytes()) << "what samples missed";
}

TEST(AddCounts, NeverMoreThanThereIsInMemory) {
  ResidentMemory m = memory();
  add_counts({9'000, kResidentTcmalloc, true, 1, 500'000, 0}, 3'500, &m);
  EXPECT_EQ(80'000u, m.free_bytes);
  EXPECT_EQ(0u, m.counted_age_ns) << "asked while the parts were read";
}

TEST(AddCounts, OfAnAllocatorInsideAModuleOnlyWhereMallocsIsUnknown) {
  ResidentMemory m = memory();
  add_counts({1, kResidentJemalloc, false, 1, 1'000, 0}, 2, &m);
  EXPECT_EQ(kResidentFreeKnown | kResidentFreeCut | kResidentJemalloc, m.state) << "at least so much";
  m = memory();
  m.state = kResidentFreeKnown;  // glibc's
  add_counts({1, kResidentJemalloc, false, 1, 1'000, 0}, 2, &m);
  EXPECT_EQ(kResidentFreeKnown | kResidentJemalloc, m.state);
}

TEST(AddCounts, NothingIsAddedToNothing) {
  ResidentMemory m;
  add_counts({1, kResidentJemalloc, true, 1, 1, 1}, 2, &m);
  EXPECT_EQ(0u, m.state);
  m = memory();
  add_counts({}, 2, &m);
  EXPECT_EQ(0u, m.state);
  EXPECT_EQ(5'000u, m.free_bytes);
}

TEST(AddCounts, OfSeveralProcessesTheOldestAge) {
  ResidentMemory sum = memory();
  ResidentMemory more = memory();
  sum.counted_bytes = more.counted_bytes = 10;
  sum.counted_age_ns = 5;
  more.counted_age_ns = 9;
  sum.state = kResidentJemalloc | kResidentCounted;
  more.state = kResidentJemalloc | kResidentCounted;
  add_resident(more, &sum);
  EXPECT_NE(0u, sum.state & kResidentCounted);
  more.state = kResidentFreeKnown;
  add_resident(more, &sum);
  EXPECT_EQ(kResidentFreeKnown | kResidentFreeCut | kResidentJemalloc, sum.state)
      << "not all blocks are counted, and what is free is known of one process";
  EXPECT_EQ(30u, sum.counted_bytes);
  EXPECT_EQ(9u, sum.counted_age_ns);
}

Source* g_in_handler;

// A handler may have interrupted the allocator that is to be asked.
TEST_F(AllocatorCountsTest, OnASignalStackNobodyAsks) {
  FakeSource source;
  source.due_ns.store(1);
  g_in_handler = &source;
  std::vector<char> memory(64 * 1024);
  stack_t before{};
  stack_t own{};
  own.ss_sp = memory.data();
  own.ss_size = memory.size();
  ASSERT_EQ(0, sigaltstack(&own, &before));
  struct sigaction action{};
  struct sigaction old{};
  action.sa_handler = [](int) { ask_at(g_in_handler, platform::monotonic_ns()); };
  action.sa_flags = SA_ONSTACK;
  ASSERT_EQ(0, sigaction(SIGUSR1, &action, &old));
  ASSERT_EQ(0, ::raise(SIGUSR1));
  EXPECT_EQ(0, g_asked);
  ask_at(&source, platform::monotonic_ns());
  EXPECT_EQ(1, g_asked) << "on the thread's own stack";
  sigaction(SIGUSR1, &old, nullptr);
  sigaltstack(&before, nullptr);
}

}  // namespace
}  // namespace memprof::counts
