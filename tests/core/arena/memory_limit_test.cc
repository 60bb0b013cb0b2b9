// SPDX-License-Identifier: Apache-2.0
#include "core/arena/memory_limit.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmath>
#include <string>

#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "core/sampling/sampler.h"
#include "core/sampling/weight.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::memory_limit_test {
namespace {

using testing_support::FakeStack;
using testing_support::in_child;
using testing_support::kSanitized;
using testing_support::Random;
using testing_support::take;

constexpr uint64_t kMiB = 1024 * 1024;

TEST(MemoryLimit, ADefaultIsA64thOfTheGroups) {
  EXPECT_EQ(kNoMemoryLimit, default_memory_limit(UINT64_MAX));
  EXPECT_EQ(32 * kMiB, default_memory_limit(2048 * kMiB));
  EXPECT_EQ(kMinMemoryLimit, default_memory_limit(100 * kMiB));
  EXPECT_EQ(kMinMemoryLimit, default_memory_limit(0));
}

TEST(MemoryLimit, TablesFitAndUseWhatThereIs) {
  for (const Limits& wanted : {kDefaultLimits, kExactLimits}) {
    Limits before{};
    for (uint64_t limit = kMinMemoryLimit; limit < 512 * kMiB; limit += limit / 3 + 12345) {
      const Limits limits = limits_within(wanted, limit);
      EXPECT_LE(max_bytes(limits), limit);
      EXPECT_LE(limits.max_live_samples, wanted.max_live_samples);
      EXPECT_LE(limits.max_stacks, wanted.max_stacks);
      EXPECT_GE(limits.max_live_samples, 8192u);
      EXPECT_GE(limits.max_stacks, 512u);
      EXPECT_EQ(wanted.max_depth, limits.max_depth);
      EXPECT_GE(limits.max_live_samples, before.max_live_samples) << limit;
      before = limits;
      Limits more = limits;
      ++more.max_live_samples;
      EXPECT_TRUE(more.max_live_samples > wanted.max_live_samples || max_bytes(more) > limit) << limit;
      more = limits;
      more.max_stacks += more.max_stacks / 16 + 64;
      EXPECT_TRUE(more.max_stacks > wanted.max_stacks || max_bytes(more) > limit) << limit;
    }
  }
}

TEST(MemoryLimit, WhatFitsStaysAsItIs) {
  for (const uint64_t limit : {max_bytes(kDefaultLimits), 512 * kMiB, kNoMemoryLimit}) {
    const Limits limits = limits_within(kDefaultLimits, limit);
    EXPECT_EQ(kDefaultLimits.max_live_samples, limits.max_live_samples);
    EXPECT_EQ(kDefaultLimits.max_stacks, limits.max_stacks);
  }
  const Limits small = limits_within({100, 50, 7}, kMinMemoryLimit);
  EXPECT_EQ(100u, small.max_live_samples);
  EXPECT_EQ(50u, small.max_stacks);
  EXPECT_EQ(7u, small.max_depth);
}

class Folder {
 public:
  Folder() {
    char name[] = "/dev/shm/memprof-limit-XXXXXX";
    path_ = mkdtemp(name) != nullptr ? name : "";
  }
  ~Folder() { rmdir(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

struct Result {
  double sigmas[2];  // how far live and allocated bytes are from the truth
  uint64_t file_bytes;
  uint64_t thinned;
  uint64_t folded;
  uint64_t dropped;
};

// A storm under 4 MiB: 60,000 stacks, several times the live samples that there is room for, names of code.
Result storm(const char* folder, uint64_t seed) {
  constexpr uint64_t kBlocks = 150000;
  profiler::Sharing sharing;
  sharing.folder = folder;
  sharing.memory_limit_bytes = kMinMemoryLimit;
  EXPECT_EQ(Status::kOk, profiler::initialize(kDefaultLimits, 256, sharing));
  EXPECT_EQ(Status::kOk, profiler::start());
  Random random(seed);
  double live = 0;
  double allocated = 0;
  for (uint64_t i = 0; i < kBlocks; ++i) {
    const uint64_t address = 0x10000000 + i * 4096;
    const uint64_t size = uint64_t{32} << random.below(7);
    const bool dies = random.below(2) == 0;
    allocated += static_cast<double>(size);
    live += dies ? 0 : static_cast<double>(size);
    if (i % 64 == 0) {
      const std::string name = "function_of_generated_code_" + std::to_string(i);
      profiler::intern_code({name.data(), static_cast<uint32_t>(name.size()), name.data(),
                             static_cast<uint32_t>(name.size()),
                             reinterpret_cast<const uint8_t*>(name.data()), name.size(), 1, 1});
    }
    const uint64_t rate = sampler_rate();
    if (random.uniform() >= weigh(size, rate).probability) {
      continue;
    }
    void* const block = reinterpret_cast<void*>(address);
    const FakeStack stack(0x401000 + random.below(60000) * 16);
    profiler::record_allocation(block, size, rate, stack.entry());
    if (dies) {
      profiler::record_free(block);
    }
  }
  const auto s = take(profiler::arena());
  double live_variance = 0;
  for (uint64_t i = 0; i < s->records.size; ++i) {
    const SnapshotRecord& r = s->records.data[i];
    live_variance += (1 - weigh(r.size_bytes, r.rate_bytes).probability) * r.weight_bytes * r.weight_bytes;
  }
  double estimate = 0;
  double variance = 0;
  for (uint64_t i = 0; i < s->stacks.size; ++i) {
    estimate += s->stacks.data[i].allocated.weight_bytes;
    variance += s->stacks.data[i].allocated.variance_bytes;
  }
  struct stat status{};
  EXPECT_EQ(0, stat(profiler::arena_path(), &status));
  const Counters c = profiler::counters();
  EXPECT_LE(c.arena_bytes, kMinMemoryLimit);
  unlink(profiler::arena_path());
  return {{(s->live_weight_bytes - live) / std::sqrt(live_variance),
           (estimate - allocated) / std::sqrt(variance)},
          static_cast<uint64_t>(status.st_blocks) * 512,
          c.thinned_samples,
          c.folded_stacks,
          c.dropped_samples};
}

// Of each estimate: more than 5 standard errors off with odds of 6e-7; of twelve runs fewer than 8 within 1.96 with
// odds of 3e-5.
TEST(MemoryLimit, AStormStaysWithinItAndTotalsStayRight) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "one thread";
#endif
  const Folder folder;
  ASSERT_NE("", folder.path());
  const int runs = kSanitized ? 2 : 12;
  int within[2] = {};
  for (int run = 0; run < runs; ++run) {
    int ends[2];
    ASSERT_EQ(0, pipe(ends));
    in_child([&] {
      const Result result = storm(folder.path().c_str(), static_cast<uint64_t>(run) + 1);
      EXPECT_EQ(static_cast<ssize_t>(sizeof(result)), write(ends[1], &result, sizeof(result)));
    });
    Result result{};
    ASSERT_EQ(static_cast<ssize_t>(sizeof(result)), read(ends[0], &result, sizeof(result)));
    close(ends[0]);
    close(ends[1]);
    EXPECT_LE(result.file_bytes, kMinMemoryLimit);
    EXPECT_GT(result.file_bytes, kMinMemoryLimit / 4);
    EXPECT_GT(result.thinned, 1000u);
    EXPECT_GT(result.folded, 10000u);
    EXPECT_EQ(0u, result.dropped);
    for (int i = 0; i < 2; ++i) {
      EXPECT_LT(std::fabs(result.sigmas[i]), 5) << i;
      within[i] += std::fabs(result.sigmas[i]) < 1.96;
    }
  }
  EXPECT_GE(within[0], runs * 2 / 3);
  EXPECT_GE(within[1], runs * 2 / 3);
}

// The default of a process whose group has no limit, or one that it is not told of, is what it was.
TEST(MemoryLimit, WithoutOneTheTablesAreTheUsual) {
  in_child([] {
    ASSERT_EQ(Status::kOk, profiler::initialize(kDefaultLimits, 4096));
    EXPECT_EQ(kDefaultLimits.max_stacks, profiler::arena().header().limits.max_stacks);
    EXPECT_EQ(max_bytes(kDefaultLimits), profiler::counters().arena_bytes);
  });
}

}  // namespace
}  // namespace memprof::memory_limit_test
