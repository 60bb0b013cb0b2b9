// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/rule_cache.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <set>

#include "tests/support/engine.h"

namespace memprof::rule_cache_test {
namespace {

using testing_support::Random;
using testing_support::run_threads;
using testing_support::scaled;
using unwind::Rule;
using unwind::RuleCache;

// Zero-initialised, as the process's own.
std::unique_ptr<RuleCache> make_cache() {
  return std::make_unique<RuleCache>();
}

// A rule that says which address it is of.
Rule rule_of(uint64_t address) {
  const uint64_t mixed = address * 0xd6e8feb86659fd93ull >> 32;
  return {static_cast<Rule::Kind>(1 + mixed % 9), static_cast<uint16_t>(mixed >> 4 & 0xffff),
          static_cast<uint16_t>(mixed >> 20 & 0x3ff)};
}

bool is_rule_of(uint64_t address, const Rule& rule) {
  return unwind::pack(rule) == unwind::pack(rule_of(address));
}

void enter(RuleCache* cache, uint64_t address) {
  cache->enter(address, rule_of(address), cache->ticket());
}

constexpr uint64_t kAddresses = uint64_t{1} << 47;  // user space

TEST(RuleCache, FindsWhatWasEntered) {
  const auto cache = make_cache();
  Rule rule{};
  EXPECT_FALSE(cache->find(0x401000, &rule));
  enter(cache.get(), 0x401000);
  ASSERT_TRUE(cache->find(0x401000, &rule));
  EXPECT_TRUE(is_rule_of(0x401000, rule));
  EXPECT_FALSE(cache->find(0x401001, &rule));
  cache->enter(0x401000, {Rule::kRoot, 0, 0}, cache->ticket());
  ASSERT_TRUE(cache->find(0x401000, &rule));
  EXPECT_EQ(Rule::kRoot, rule.kind);
}

TEST(RuleCache, AHitIsNeverFalse) {
  const auto cache = make_cache();
  Random random(20250104);
  // All over the address space, then near each other, then those that differ in one bit.
  uint64_t hits = 0;
  const auto probe = [&](uint64_t entered, uint64_t asked) {
    enter(cache.get(), entered);
    Rule rule{};
    if (cache->find(asked, &rule)) {
      ++hits;
      ASSERT_TRUE(is_rule_of(asked, rule)) << std::hex << entered << " answered " << asked;
    }
  };
  for (uint64_t i = 0; i < scaled(4000000); ++i) {
    probe(random.below(kAddresses), random.below(kAddresses));
    const uint64_t near = 0x7f0000000000 + random.below(1 << 20);
    probe(near, 0x7f0000000000 + random.below(1 << 20));
    probe(near, near ^ uint64_t{1} << random.below(47));
    probe(near, near);
  }
  EXPECT_GT(hits, scaled(4000000));
}

TEST(RuleCache, EachAddressHasAWordOfItsOwn) {
  // A bijection: of two addresses that share a slot, only the last is found, and it is the right one.
  const auto cache = make_cache();
  Random random(20250105);
  for (uint64_t i = 0; i < 1000; ++i) {
    const uint64_t a = random.below(kAddresses);
    enter(cache.get(), a);
    for (uint64_t k = 1; k < 64; ++k) {
      const uint64_t b = (a + k * RuleCache::kSlots) % kAddresses;
      Rule rule{};
      ASSERT_TRUE(!cache->find(b, &rule) || is_rule_of(b, rule));
    }
  }
}

TEST(RuleCache, ManyAddressesFit) {
  // 6,000 return addresses of one library, as real programs have at most.
  const auto cache = make_cache();
  Random random(20250106);
  std::set<uint64_t> addresses;
  while (addresses.size() < 6000) {
    addresses.insert(0x7f1234560000 + random.below(1 << 22));
  }
  for (const uint64_t address : addresses) {
    enter(cache.get(), address);
  }
  uint64_t found = 0;
  Rule rule{};
  for (const uint64_t address : addresses) {
    found += cache->find(address, &rule) ? 1 : 0;
  }
  // n slots hold 1 - (1 - e^(-x)) / x less, x = 6000 / 16384: 83 % are expected to survive.
  EXPECT_GT(found, 4800u);
}

TEST(RuleCache, UnloadingForgetsEverything) {
  const auto cache = make_cache();
  Rule rule{};
  for (uint64_t address = 0x1000; address < 0x9000; address += 7) {
    enter(cache.get(), address);
  }
  ASSERT_TRUE(cache->find(0x1000, &rule));
  EXPECT_FALSE(RuleCache::is_unloading(cache->ticket()));
  cache->begin_unload();
  EXPECT_TRUE(RuleCache::is_unloading(cache->ticket()));
  cache->begin_unload();  // another thread does, too
  cache->end_unload();
  EXPECT_TRUE(RuleCache::is_unloading(cache->ticket()));
  enter(cache.get(), 0x5000);
  cache->end_unload();
  EXPECT_FALSE(RuleCache::is_unloading(cache->ticket()));
  for (uint64_t address = 0x1000; address < 0x9000; address += 7) {
    ASSERT_FALSE(cache->find(address, &rule));
  }
  EXPECT_FALSE(cache->find(0x5000, &rule)) << "was entered during the unload";
}

TEST(RuleCache, ThreadsSeeWholeEntries) {
  const auto cache = make_cache();
  std::atomic<uint64_t> hits{0};
  std::atomic<uint64_t> wrong{0};
  run_threads(4, [&](int thread) {
    Random random(20250107 + static_cast<uint64_t>(thread));
    uint64_t my_hits = 0;
    for (uint64_t i = 0; i < scaled(2000000); ++i) {
      // Few slots, many addresses for each.
      const uint64_t address = 0x400000 + random.below(64) + RuleCache::kSlots * random.below(4);
      Rule rule{};
      if (!cache->find(address, &rule)) {
        enter(cache.get(), address);
      } else if (is_rule_of(address, rule)) {
        ++my_hits;
      } else {
        wrong.fetch_add(1);
      }
    }
    hits.fetch_add(my_hits);
  });
  EXPECT_EQ(0u, wrong.load());
  EXPECT_GT(hits.load(), 0u);
}

// The meaning of an address changes at each unload.  A thread that learns the old one before an unload and
// enters it after must not leave it behind.
TEST(RuleCache, NothingStaleStays) {
  const auto cache = make_cache();
  constexpr int kThreads = 3;
  constexpr uint64_t kAddress = 0x7f0000001234;
  std::atomic<uint32_t> meaning{1};
  std::atomic<uint64_t> entered[kThreads] = {};
  std::atomic<bool> done{false};
  uint64_t there = 0;
  uint64_t stale = 0;
  run_threads(kThreads + 1, [&](int thread) {
    if (thread < kThreads) {
      while (!done.load()) {
        const uint32_t ticket = cache->ticket();
        const uint32_t seen = meaning.load();
        std::this_thread::yield();
        cache->enter(kAddress, {Rule::kFromSp, static_cast<uint16_t>(seen & 0x3fff), 0}, ticket);
        entered[thread].fetch_add(1);
      }
      return;
    }
    for (uint64_t round = 0; round < scaled(4000); ++round) {
      cache->begin_unload();
      meaning.fetch_add(1);
      cache->end_unload();
      // Whatever was learned before has been entered when each thread has entered twice more.
      for (std::atomic<uint64_t>& count : entered) {
        for (const uint64_t before = count.load(); count.load() < before + 2;) {
          std::this_thread::yield();
        }
      }
      Rule rule{};
      if (cache->find(kAddress, &rule)) {
        ++there;
        stale += rule.a != (meaning.load() & 0x3fff) ? 1 : 0;
      }
    }
    done.store(true);
  });
  EXPECT_EQ(0u, stale);
  EXPECT_GT(there, 0u);
}

}  // namespace
}  // namespace memprof::rule_cache_test
