// SPDX-License-Identifier: Apache-2.0
#include "core/mappings/mapping_log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::mapping_log_test {
namespace {

using testing_support::Random;
using testing_support::run_threads;
using testing_support::scaled;
using testing_support::ScopedArena;

constexpr uint64_t kPage = 4096;

bool hold(uint32_t) {
  return true;
}
void release(uint32_t) {}

MappingEvent add(uint64_t first_page, uint64_t pages, uint64_t ticket) {
  MappingEvent e;
  e.kind = MappingEvent::Kind::kAdd;
  e.range.start = first_page * kPage;
  e.range.limit = (first_page + pages) * kPage;
  e.range.ticket = ticket;
  e.range.stack = 1;
  return e;
}

MappingEvent remove(uint64_t first_page, uint64_t pages, uint64_t ticket) {
  MappingEvent e;
  e.kind = MappingEvent::Kind::kRemove;
  e.range.stack = kNoMappingStack;
  e.from = first_page * kPage;
  e.old_bytes = pages * kPage;
  e.ticket = ticket;
  return e;
}

struct Fixture {
  ScopedArena arena{Limits{1024, 4096, 64}};
  MappingTable table{arena.arena, {hold, release}};
  std::unique_ptr<MappingLog> log = std::make_unique<MappingLog>();
  uint64_t ranges() const { return arena.header().mappings.ranges.load(); }
};

// Made by the compiler: where a library's constructor maps memory before ours ran, ours must not make them anew (it
// happened: ffmpeg, at whose end a thread looked for an event for ever).
[[maybe_unused]] constexpr MappingLog kLog;
[[maybe_unused]] constexpr MappingTable kTable;

TEST(MappingLog, WhoHasTheTableEntersWhatOthersSayMeanwhile) {
  Fixture f;
  const bool had_it = f.log->with_table(&f.table, [&f] {
    // As a signal handler that interrupts the holder, or another thread.
    EXPECT_TRUE(f.log->put(add(1, 1, 1)));
    EXPECT_FALSE(f.log->enter_into(&f.table));
    EXPECT_EQ(0u, f.ranges());
  });
  EXPECT_TRUE(had_it);
  EXPECT_EQ(1u, f.ranges());
  EXPECT_EQ(0u, f.arena.header().mappings.changes.load() % 2);
}

TEST(MappingLog, AFullRingRefuses) {
  Fixture f;
  f.log->with_table(&f.table, [&f] {
    for (uint64_t i = 0; i < MappingLog::kCells; ++i) {
      EXPECT_TRUE(f.log->put(add(2 * i, 1, i + 1)));
    }
    EXPECT_FALSE(f.log->put(add(1, 1, 1)));
  });
  EXPECT_EQ(MappingLog::kCells, f.ranges());
  EXPECT_TRUE(f.log->put(remove(0, 2 * MappingLog::kCells, MappingLog::kCells + 1)));
  EXPECT_TRUE(f.log->enter_into(&f.table));
  EXPECT_EQ(0u, f.ranges());
}

// Each thread has pages of its own; whoever has the table enters what all of them say, and nothing is left in the
// ring when all have ended.
constexpr uint64_t kHourNs = 3'600'000'000'000;

void fill_ring(MappingLog* log) {
  while (log->put(add(0x1000, 1, 1))) {
  }
}

TEST(MappingLog, AFullRingIsWaitedForWhileWhoHasTheTableDoesNotRun) {
  Fixture f;
  std::atomic<bool> is_held{false};
  std::atomic<bool> may_go_on{false};
  run_threads(3, [&](int thread) {
    const auto wait_for = [](const std::atomic<bool>& flag) {
      while (!flag.load()) std::this_thread::yield();
    };
    if (thread == 0) {
      EXPECT_TRUE(f.log->with_table(&f.table, [&] {
        is_held.store(true);
        wait_for(may_go_on);
      }));
    } else if (thread == 1) {
      wait_for(is_held);
      fill_ring(f.log.get());
      EXPECT_TRUE(f.log->put_waiting(add(0x2000, 1, 2), &f.table, kHourNs));
    } else {
      wait_for(is_held);
      std::this_thread::sleep_for(std::chrono::milliseconds(20));  // more than a thousand yields
      may_go_on.store(true);
    }
  });
  f.log->enter_into(&f.table);
  EXPECT_EQ(2u, f.ranges());
}

// As a thread that a signal handler jumped out of while it had the table.
TEST(MappingLog, WhoNeverComesBackIsWaitedForOnce) {
  Fixture f;
  EXPECT_TRUE(f.log->with_table(&f.table, [&f] {
    fill_ring(f.log.get());
    EXPECT_FALSE(f.log->put_waiting(add(0x2000, 1, 2), &f.table, 1));
    EXPECT_FALSE(f.log->put_waiting(add(0x2000, 1, 2), &f.table, kHourNs));
  }));
  EXPECT_TRUE(f.log->put_waiting(add(0x2000, 1, 2), &f.table, 1)) << "it did come back";
}

TEST(MappingLog, ManyThreadsLoseNothing) {
  constexpr int kThreads = 8;
  constexpr uint64_t kOwn = 64;
  Fixture f;
  std::atomic<uint64_t> ticket{1};
  std::atomic<uint64_t> left{0};
  run_threads(kThreads, [&](int thread) {
    Random random(static_cast<uint64_t>(thread) + 1);
    const uint64_t base = static_cast<uint64_t>(thread) * 1000;
    bool mapped[kOwn] = {};
    const auto say = [&f](const MappingEvent& event) {
      while (!f.log->put(event)) {
        f.log->enter_into(&f.table);
      }
      f.log->enter_into(&f.table);
    };
    for (uint64_t i = 0; i < scaled(20000); ++i) {
      const uint64_t page = random.below(kOwn);
      const uint64_t drawn = ticket.fetch_add(1);
      say(mapped[page] ? remove(base + 2 * page, 1, drawn) : add(base + 2 * page, 1, drawn));
      mapped[page] = !mapped[page];
    }
    for (const bool is_mapped : mapped) {
      left.fetch_add(is_mapped);
    }
  });
  EXPECT_EQ(left.load(), f.ranges());
  EXPECT_EQ(0u, f.arena.header().later_statistics.dropped_mappings.load());
}

TEST(MappingLog, AChildBeginsWithAnEmptyRing) {
  Fixture f;
  f.log->with_table(&f.table, [&f] {
    EXPECT_TRUE(f.log->put(add(1, 1, 1)));
    f.log->reset_in_child();  // the holder stayed in the parent
    EXPECT_TRUE(f.log->put(add(5, 1, 2)));
    EXPECT_TRUE(f.log->enter_into(&f.table));
    EXPECT_EQ(1u, f.ranges());
  });
}

}  // namespace
}  // namespace memprof::mapping_log_test
