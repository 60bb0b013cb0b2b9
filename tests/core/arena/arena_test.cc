// SPDX-License-Identifier: Apache-2.0
#include "core/arena/arena.h"

#include "platform/clock.h"
#include "platform/memory.h"
#include "platform/process.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <mutex>
#include <set>

#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::arena_test {
namespace {

using testing_support::in_child;
using testing_support::kSanitized;
using testing_support::run_threads;
using testing_support::ScopedArena;

uint64_t resident_bytes() {
  unsigned long size = 0, resident = 0;
  std::FILE* f = std::fopen("/proc/self/statm", "r");
  EXPECT_NE(nullptr, f);
  EXPECT_EQ(2, std::fscanf(f, "%lu %lu", &size, &resident));
  std::fclose(f);
  return resident * 4096;
}

uint64_t mapped_bytes() {
  unsigned long size = 0;
  std::FILE* f = std::fopen("/proc/self/statm", "r");
  EXPECT_NE(nullptr, f);
  EXPECT_EQ(1, std::fscanf(f, "%lu", &size));
  std::fclose(f);
  return size * 4096;
}

void limit_address_space(uint64_t more) {
  const rlim_t max = mapped_bytes() + more;
  const rlimit limit{max, max};
  ASSERT_EQ(0, setrlimit(RLIMIT_AS, &limit));
}

TEST(Arena, TheHeaderSaysWhatIsThere) {
  ScopedArena a({5000, 300, 77});
  const ArenaHeader& h = a.header();
  EXPECT_EQ(kArenaMagic, h.magic.load());
  EXPECT_EQ(0, memcmp("MROFARNA", &h.magic, 8));
  EXPECT_EQ(kArenaVersion, h.version);
  EXPECT_EQ(sizeof(ArenaHeader), h.header_bytes);
  EXPECT_EQ(platform::process_id(), h.process_id);
  EXPECT_EQ(5000u, h.limits.max_live_samples);
  EXPECT_EQ(300u, h.limits.max_stacks);
  EXPECT_EQ(77u, h.limits.max_depth);
  EXPECT_STREQ(platform::program_path(), h.program);
  EXPECT_LE(h.start_ns, platform::monotonic_ns());
  EXPECT_LE(h.start_unix_ns, platform::unix_ns());
  EXPECT_GE(level_slots(0) * ((1u << h.live_levels.limit) - 1), 2u * 5000);
}

TEST(Arena, SectionsAreAlignedAndDoNotOverlap) {
  for (const Limits& limits :
       {Limits{1, 1, 1}, Limits{1024, 256, 64}, kDefaultLimits, Limits{123457, 7919, 1024}}) {
    ScopedArena a(limits);
    uint64_t end = platform::kPieceBytes;
    for (uint32_t id = 0; id < kSectionCount; ++id) {
      const Section& s = a.header().section(id);
      EXPECT_EQ(0u, s.offset % platform::kPieceBytes);
      EXPECT_EQ(end, s.offset);
      EXPECT_EQ(section_capacity(static_cast<SectionId>(id), limits), s.capacity_bytes);
      EXPECT_GT(s.capacity_bytes, 0u);
      EXPECT_EQ(0u, s.used_bytes.load());
      EXPECT_EQ(platform::kPieceBytes, s.mapped_bytes.load());
      end = (s.offset + s.capacity_bytes + platform::kPieceBytes - 1) / platform::kPieceBytes *
            platform::kPieceBytes;
    }
    EXPECT_EQ(end, a.header().total_bytes);
  }
  EXPECT_EQ(0u, section_capacity(kSectionCount, kDefaultLimits));
}

TEST(Arena, AllocationsFollowEachOtherAlignedAndZero) {
  ScopedArena a;
  EXPECT_EQ(0u, a.arena.allocate(kTextSection, 3));
  EXPECT_EQ(8u, a.arena.allocate(kTextSection, 8));
  EXPECT_EQ(16u, a.arena.allocate(kTextSection, 9));
  EXPECT_EQ(32u, a.arena.allocate(kTextSection, 0));
  EXPECT_EQ(32u, a.arena.allocate(kTextSection, 100000));  // over more than one step of growth
  const Section& s = a.header().section(kTextSection);
  EXPECT_EQ(100032u, s.used_bytes.load());
  EXPECT_GE(s.committed_bytes.load(), 100032u);
  EXPECT_EQ(0u, s.committed_bytes.load() % 16384);
  for (uint64_t i = 0; i < 100032; ++i) {
    ASSERT_EQ(0, *a.arena.at<uint8_t>(kTextSection, i));
  }
}

// Whoever goes over the entries of a section reads all that count as used: on a page that has no memory that ends the
// program (SIGBUS on a full file system).
TEST(Arena, WhatTheSystemRefusedIsNotUsed) {
  in_child([] {
    ScopedArena a;
    for (const SectionId id : {kStackSection, kFrameSection, kModuleSection, kNameSection, kTextSection,
                               kHeapSection, kCodeSection, kLifetimeSection, kMappingSection}) {
      const Section& s = a.header().section(id);
      platform::set_sandboxed(true);  // the arena asks the system for no memory then
      while (a.arena.allocate(id, 192) != Arena::kNoOffset && s.used_bytes.load() < (1u << 20)) {
      }
      EXPECT_LE(s.used_bytes.load(), s.committed_bytes.load()) << id;
      platform::set_sandboxed(false);
      // With memory again, it goes on where it was.
      const uint64_t used = s.used_bytes.load();
      EXPECT_EQ(used, a.arena.allocate(id, 8)) << id;
    }
  });
}

TEST(Arena, ASectionIsFullWhenItIsFull) {
  ScopedArena a;
  const uint64_t capacity = a.header().section(kTextSection).capacity_bytes;
  EXPECT_EQ(Arena::kNoOffset, a.arena.allocate(kTextSection, capacity + 1));
  EXPECT_EQ(Arena::kNoOffset, a.arena.allocate(kTextSection, UINT64_MAX - 8));
  EXPECT_EQ(0u, a.arena.allocate(kTextSection, capacity - 8));
  EXPECT_EQ(Arena::kNoOffset, a.arena.allocate(kTextSection, 9));
  EXPECT_EQ(capacity - 8, a.arena.allocate(kTextSection, 8));
  EXPECT_EQ(Arena::kNoOffset, a.arena.allocate(kTextSection, 1));
  EXPECT_EQ(capacity, a.header().section(kTextSection).used_bytes.load());
  EXPECT_EQ(capacity, a.header().section(kTextSection).committed_bytes.load());
  *a.arena.at<uint8_t>(kTextSection, capacity - 1) = 1;
}

TEST(Arena, RacingAllocationsAreApart) {
  ScopedArena a(kDefaultLimits);
  std::mutex mutex;
  std::set<uint64_t> offsets;
  run_threads(8, [&](int thread) {
    std::vector<uint64_t> mine;
    for (int i = 0; i < 2000; ++i) {
      const uint64_t offset = a.arena.allocate(kTextSection, 200);
      ASSERT_NE(Arena::kNoOffset, offset);
      memset(a.arena.at<uint8_t>(kTextSection, offset), thread + 1, 200);
      mine.push_back(offset);
    }
    for (const uint64_t offset : mine) {
      for (uint64_t i = 0; i < 200; ++i) {
        ASSERT_EQ(thread + 1, *a.arena.at<uint8_t>(kTextSection, offset + i));
      }
    }
    const std::lock_guard<std::mutex> lock(mutex);
    offsets.insert(mine.begin(), mine.end());
  });
  EXPECT_EQ(16000u, offsets.size());
  EXPECT_EQ(16000u * 200, a.header().section(kTextSection).used_bytes.load());
  EXPECT_GE(a.header().section(kTextSection).committed_bytes.load(), 16000u * 200);
}

// Neither address space nor memory is taken before it is used: decision 0036.
TEST(Arena, CanBecomeLargeAndIsSmall) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer keeps shadows of what is touched";
  }
  const uint64_t before = resident_bytes();
  const uint64_t mapped_before = mapped_bytes();
  ScopedArena a(kDefaultLimits);
  EXPECT_GT(a.header().total_bytes, 100u << 20);
  EXPECT_LT(resident_bytes() - before, 1u << 20);
  EXPECT_LE(mapped_bytes() - mapped_before, 20u << 16);
}

TEST(Arena, WhatIsMappedFollowsWhatIsUsed) {
  ScopedArena a(kDefaultLimits);
  for (uint32_t id = 0; id < kSectionCount; ++id) {
    const Section& s = a.header().section(id);
    for (uint64_t end = 1; end <= s.capacity_bytes && end < 64 << 20; end *= 3) {
      ASSERT_TRUE(a.arena.commit(static_cast<SectionId>(id), 0, end)) << id << ", " << end;
      a.arena.at<uint8_t>(static_cast<SectionId>(id))[end - 1] = 1;
      const uint64_t mapped = s.mapped_bytes.load();
      EXPECT_GE(mapped, end);
      EXPECT_LE(mapped, std::max<uint64_t>(2 * end, platform::kPieceBytes));
      EXPECT_LE(mapped, end + (1 << 20) + platform::kPieceBytes);
    }
    EXPECT_FALSE(a.arena.commit(static_cast<SectionId>(id), s.capacity_bytes, platform::kPieceBytes));
  }
}

TEST(Arena, ThreadsThatGrowASectionAtOnceAllGetIt) {
  for (int round = 0; round < 50; ++round) {
    ScopedArena a(kDefaultLimits);
    run_threads(8, [&](int thread) {
      for (uint64_t end = 40000; end < 8 << 20; end += 40000) {
        ASSERT_TRUE(a.arena.commit(kLiveSection, 0, end));
        auto* words = a.arena.at<std::atomic<uint8_t>>(kLiveSection);
        words[end - 8 + static_cast<uint64_t>(thread)].store(1);
      }
    });
  }
}

// A limit that the program sets for itself: there is a table less, and nothing else.
TEST(Arena, ALimitThatComesLaterEndsItsGrowth) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer takes the address space";
  }
  in_child([] {
    ScopedArena a(kDefaultLimits);
    const uint64_t before = mapped_bytes();
    limit_address_space(8u << 20);
    uint64_t max = 0;
    while (a.arena.allocate(kTextSection, 100000) != Arena::kNoOffset) {
      ++max;
    }
    EXPECT_GT(max, 0u);
    EXPECT_LT(mapped_bytes(), before + (8u << 20));
    EXPECT_LE(a.header().section(kTextSection).committed_bytes.load(),
              a.header().section(kTextSection).mapped_bytes.load());
    EXPECT_TRUE(a.live.insert({{0x10000, 1, 1, 1, 1, 1}}));  // the other tables are as they were
  });
}

TEST(Arena, InASandboxThereIsWhatWasCommittedBefore) {
  ScopedArena a(kDefaultLimits);
  a.arena.commit_ahead(kTextSection, 200000);
  a.live.open_for(1000);
  a.arena.commit_ahead(kNameSection, UINT64_MAX / 2);  // as much as there is
  EXPECT_EQ(a.header().section(kNameSection).capacity_bytes,
            a.header().section(kNameSection).committed_bytes.load());
  platform::set_sandboxed(true);
  EXPECT_EQ(0u, a.arena.allocate(kTextSection, 150000));
  EXPECT_EQ(Arena::kNoOffset, a.arena.allocate(kTextSection, 150000));
  EXPECT_EQ(Arena::kNoOffset, a.arena.allocate(kFrameSection, 8));
  for (uint64_t i = 0; i < 1000; ++i) {
    EXPECT_TRUE(a.live.insert({{0x10000 + i * 16, 1, 1, 1, 1, 1}})) << i;
  }
  platform::set_sandboxed(false);
}

// Somebody has mapped what a section would grow into: it is his.
TEST(Arena, WhatOthersMapInItsWayStaysTheirs) {
  ScopedArena a(kDefaultLimits);
  uint8_t* const place = a.arena.base() + a.header().section(kTextSection).offset + (256 << 10);
  void* const theirs =
      mmap(place, 1 << 16, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
  ASSERT_EQ(place, theirs);
  memset(theirs, 7, 1 << 16);
  EXPECT_TRUE(a.arena.commit(kTextSection, 0, 200 << 10));
  EXPECT_FALSE(a.arena.commit(kTextSection, 0, 300 << 10));
  EXPECT_FALSE(a.arena.commit(kTextSection, 0, 300 << 10));
  for (int i = 0; i < 1 << 16; ++i) {
    ASSERT_EQ(7, place[i]);
  }
  munmap(theirs, 1 << 16);
  EXPECT_TRUE(a.arena.commit(kTextSection, 0, 300 << 10));
}

TEST(Arena, TheLargestLimitsCanBeReserved) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer takes the address space";
  }
  const Arena a = Arena::create({kMaxLiveSamples, kMaxStacks, kMaxDepth});
  ASSERT_TRUE(a);
  EXPECT_LE(a.header().live_levels.limit, kMaxLevels);
  EXPECT_LE(a.header().stack_levels.limit, kMaxLevels);
  EXPECT_GE(slots_before(a.header().live_levels.limit), kMaxLiveSamples * 2);
  Arena::release(a);
}

TEST(Arena, WhereAddressSpaceIsShortTheLimitsAreHalved) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer takes the address space";
  }
  in_child([] {
    limit_address_space(200u << 20);
    const Arena a = Arena::create(kDefaultLimits);
    ASSERT_TRUE(a);
    const Limits& limits = a.header().limits;
    EXPECT_LT(limits.max_live_samples, kDefaultLimits.max_live_samples);
    EXPECT_LT(limits.max_stacks, kDefaultLimits.max_stacks);
    EXPECT_EQ(kDefaultLimits.max_depth, limits.max_depth);
    // Most of it is left to the program; but the arena is not smaller than need be.
    EXPECT_LE(a.header().total_bytes, 50u << 20);
    EXPECT_GT(a.header().total_bytes, 20u << 20);
    void* rest = platform::reserve_pages(140u << 20);
    EXPECT_NE(nullptr, rest);
    platform::release_pages(rest, 140u << 20);
    // And what is promised can be used.
    HeapMap live(a);
    for (uint64_t i = 0; i < limits.max_live_samples; ++i) {
      ASSERT_TRUE(live.insert({{0x10000 + i * 16, 1, 1, 1, 1, 1}})) << i;
    }
  });
}

TEST(Arena, WhereNothingFitsThereIsNoArena) {
  if (kSanitized) {
    GTEST_SKIP() << "a sanitizer takes the address space";
  }
  in_child([] {
    limit_address_space(1u << 20);
    EXPECT_FALSE(Arena::create(kDefaultLimits));
  });
}

}  // namespace
}  // namespace memprof::arena_test
