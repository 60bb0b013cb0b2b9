// SPDX-License-Identifier: Apache-2.0
#include "unwind/tables/registered.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <thread>
#include <vector>

#include "tests/support/engine.h"
#include "tests/unwind/hand_made_code.h"
#include "tests/unwind/tables/hand_made_section.h"
#include "unwind/tables/rule_cache.h"

namespace memprof::registered_test {
namespace {

using namespace unwind;       // NOLINT(google-build-using-namespace)
using namespace unwind_test;  // NOLINT(google-build-using-namespace)
using testing_support::in_child;
using testing_support::Random;
using testing_support::run_threads;
using testing_support::scaled;

bool find_rule(uint64_t address, Rule* rule) {
  Row row;
  return find_registered_rule(address, &row, rule);
}

TEST(Registered, FindsFunctionsOfSections) {
  const auto tables = make_tables();
  const Section a({2, 3, 4});
  EXPECT_EQ(0u, words_at(*tables, a.code(0)));
  tables->add(a.begin());
  EXPECT_EQ(1u, tables->count());
  EXPECT_EQ(2u, words_at(*tables, a.code(0)));
  EXPECT_EQ(2u, words_at(*tables, a.code(63)));
  EXPECT_EQ(3u, words_at(*tables, a.code(64)));
  EXPECT_EQ(4u, words_at(*tables, a.code(191)));
  EXPECT_EQ(0u, words_at(*tables, a.code(192)));
  EXPECT_EQ(0u, words_at(*tables, a.code(0) - 1));
  tables->remove(a.begin() + 1);
  EXPECT_EQ(1u, tables->count());
  tables->remove(a.begin());
  EXPECT_EQ(0u, tables->count());
  EXPECT_EQ(0u, words_at(*tables, a.code(64)));
  tables->remove(a.begin());
}

TEST(Registered, OrderOfFunctionsAndGapsBetweenThem) {
  const auto tables = make_tables();
  Tables section;
  const size_t cie = section.add_cie({});
  section.add_fde(cie, 640, 64, frame_of(5));
  section.add_fde(cie, 128, 32, frame_of(6));
  section.add_fde(cie, 320, 0, frame_of(7));  // of nothing
  section.add_fde(cie, 0, 64, frame_of(8));
  tables->add(section.base());
  EXPECT_EQ(8u, words_at(*tables, section.code(10)));
  EXPECT_EQ(0u, words_at(*tables, section.code(64)));
  EXPECT_EQ(6u, words_at(*tables, section.code(159)));
  EXPECT_EQ(0u, words_at(*tables, section.code(160)));
  EXPECT_EQ(0u, words_at(*tables, section.code(320)));
  EXPECT_EQ(5u, words_at(*tables, section.code(703)));
}

TEST(Registered, AnyWayToWriteAPointer) {
  const auto tables = make_tables();
  Tables section;
  Cie absolute;
  absolute.augmentation_data = {0x00};
  const size_t plain = section.add_cie(absolute);
  section.add_fde_as(plain, 0, raw(section.code(0)), raw(uint64_t{64}), {0}, frame_of(3));
  Cie relative;
  relative.augmentation_data = {0x1c};  // pcrel sdata8
  const size_t wide = section.add_cie(relative);
  section.add_fde_as(wide, 64, raw(section.code(64) - (section.base() + section.used() + 8)),
                     raw(uint64_t{64}), {0}, frame_of(4));
  Cie unknown;
  unknown.augmentation_data = {0x3b};  // relative to data whose place nobody said
  const size_t data = section.add_cie(unknown);
  section.add_fde_as(data, 128, raw(int32_t{128}), raw(uint32_t{64}), {0}, frame_of(5));
  tables->add(section.base());
  EXPECT_EQ(3u, words_at(*tables, section.code(32)));
  EXPECT_EQ(4u, words_at(*tables, section.code(96)));
  EXPECT_EQ(0u, words_at(*tables, section.code(160)));
  EXPECT_EQ(0u, words_at(*tables, 128));
}

TEST(Registered, TheLastOneIsRight) {
  const auto tables = make_tables();
  Section a({2, 2, 2});
  tables->add(a.begin());
  // Others at the addresses of the middle one, by a table elsewhere.
  Tables b;
  const size_t cie = b.add_cie({});
  b.add_fde_as(cie, 0, raw(static_cast<int32_t>(a.code(64) - (b.base() + b.used() + 8))), raw(uint32_t{64}),
               {0}, frame_of(9));
  tables->add(b.base());
  EXPECT_EQ(2u, words_at(*tables, a.code(0)));
  EXPECT_EQ(9u, words_at(*tables, a.code(64)));
  EXPECT_EQ(2u, words_at(*tables, a.code(128)));
  tables->remove(b.base());
  EXPECT_EQ(2u, words_at(*tables, a.code(64)));
}

TEST(Registered, ASecondTimeChangesNothingOrReplaces) {
  const auto tables = make_tables();
  Section a({2, 3});
  tables->add(a.begin());
  const size_t used = tables->used_bytes();
  for (int i = 0; i < 100; ++i) {
    tables->add(a.begin());
  }
  EXPECT_EQ(1u, tables->count());
  EXPECT_EQ(used, tables->used_bytes());
  // Written over without a word.
  a.tables.at(a.tables.used() - 1)[0] = 8 * 7;
  EXPECT_EQ(3u, words_at(*tables, a.code(64)));
  tables->add(a.begin());
  EXPECT_EQ(1u, tables->count());
  EXPECT_EQ(7u, words_at(*tables, a.code(64)));
  tables->remove(a.begin());
  EXPECT_EQ(0u, tables->count());
}

TEST(Registered, SeveralOfOneName) {
  const auto tables = make_tables();
  const Section a({2});
  const Section b({3}, 64);
  const Section c({4}, 128);
  tables->add(a.begin(), 77);
  tables->add(b.begin(), 77);
  tables->add(c.begin());
  tables->remove(77);
  EXPECT_EQ(1u, tables->count());
  EXPECT_EQ(0u, words_at(*tables, a.code(0)));
  EXPECT_EQ(0u, words_at(*tables, b.code(64)));
  EXPECT_EQ(4u, words_at(*tables, c.code(128)));
}

TEST(Registered, RulesOfTheCacheGoWithTheCode) {
  const Section a({2, 3});
  const Section far({4}, 1 << 15);
  Rule rule{};
  for (const bool is_replaced : {false, true}) {
    g_registered_tables.add(a.begin());
    ASSERT_TRUE(find_rule(a.code(70), &rule));
    EXPECT_EQ(pack({Rule::kFromSp, 3, 0}), pack(rule));
    const uint32_t ticket = g_rule_cache.ticket();
    g_rule_cache.enter(a.code(70), rule, ticket);
    g_rule_cache.enter(far.code(1 << 15), rule, ticket);
    if (is_replaced) {
      // The same addresses, by a table at another place: the first was freed without a word.
      Tables b;
      const size_t cie = b.add_cie({});
      b.add_fde_as(cie, 0, raw(static_cast<int32_t>(a.code(64) - (b.base() + b.used() + 8))),
                   raw(uint32_t{64}), {0}, frame_of(9));
      g_registered_tables.add(b.base());
      g_registered_tables.remove(b.base());
    }
    g_registered_tables.remove(a.begin());
    EXPECT_FALSE(g_rule_cache.find(a.code(70), &rule));
    EXPECT_TRUE(g_rule_cache.find(far.code(1 << 15), &rule)) << "of other code";
    // A walk that began before cannot bring it back.
    g_rule_cache.enter(a.code(70), {Rule::kFromSp, 3, 0}, ticket);
    EXPECT_FALSE(g_rule_cache.find(a.code(70), &rule));
    EXPECT_FALSE(find_rule(a.code(70), &rule));
  }
}

TEST(Registered, MemoryIsUsedAgain) {
  const auto tables = make_tables();
  const Section kept({2}, 1 << 14);
  tables->add(kept.begin());
  size_t max = 0;
  for (int i = 0; i < 2000; ++i) {
    const Section a({2, 3, 4});
    tables->add(a.begin());
    tables->remove(a.begin());
    max = std::max(max, tables->used_bytes());
  }
  EXPECT_EQ(1u, tables->count());
  EXPECT_LE(max, 64u * 1024);
}

TEST(Registered, ManySections) {
  const auto tables = make_tables();
  constexpr uint64_t kSections = 1000;
  Section first({1});
  Random random(20260108);
  std::vector<uint64_t> places(kSections);
  for (uint64_t i = 0; i < kSections; ++i) {
    places[i] = i;
  }
  for (uint64_t i = kSections - 1; i > 0; --i) {
    std::swap(places[i], places[random.next() % (i + 1)]);
  }
  // All in one stretch of code, by absolute addresses, in any order.
  const uint64_t code = first.code(0);
  std::vector<std::unique_ptr<Tables>> all;
  for (const uint64_t place : places) {
    auto t = std::make_unique<Tables>();
    Cie absolute;
    absolute.augmentation_data = {0x00};
    const size_t cie = t->add_cie(absolute);
    t->add_fde_as(cie, 0, raw(code + 64 * place), raw(uint64_t{64}), {0}, frame_of(1 + place % 100));
    tables->add(t->base());
    all.push_back(std::move(t));
  }
  EXPECT_EQ(kSections, tables->count());
  for (uint64_t i = 0; i < kSections; ++i) {
    ASSERT_EQ(1 + i % 100, words_at(*tables, code + 64 * i + 63));
  }
  for (uint64_t i = 0; i < kSections; i += 2) {
    tables->remove(all[i]->base());
  }
  EXPECT_EQ(kSections / 2, tables->count());
  for (uint64_t i = 0; i < kSections; ++i) {
    ASSERT_EQ(i % 2 == 0 ? 0 : 1 + places[i] % 100, words_at(*tables, code + 64 * places[i]));
  }
}

// Each thread's code has other frames in each round; readers of it never see those of another round.  Where the system
// stops a thread that changes the list, others may give up (registered.h): then nothing is found.
TEST(Registered, ThreadsThatRegisterWhileOthersWalk) {
  constexpr int kThreads = 4;
  const Section shared({50}, 1 << 15);
  g_registered_tables.add(shared.begin());
  std::atomic<uint64_t> wrong{0};
  std::atomic<uint64_t> lost{0};
  const auto expect = [&](uint64_t address, uint64_t frame, Rule* rule) {
    if (!find_rule(address, rule)) {
      lost.fetch_add(1);
      return false;
    }
    wrong.fetch_add(rule->a != frame ? 1 : 0);
    return true;
  };
  run_threads(kThreads, [&](int id) {
    std::vector<std::unique_ptr<Section>> variants;
    for (uint64_t v = 0; v < 4; ++v) {
      variants.push_back(std::make_unique<Section>(std::vector<uint64_t>{2 + v, 10 + v}));
    }
    // One place, whose bytes change.
    Section& mine = *variants[0];
    const Blob original(mine.tables.at(0), mine.tables.at(mine.tables.used()));
    for (uint64_t round = 0; round < scaled(4000); ++round) {
      const uint64_t v = round % 4;
      memcpy(mine.tables.at(0), variants[v]->tables.at(0), v == 0 ? 0 : mine.tables.used());
      if (v == 0) {
        memcpy(mine.tables.at(0), original.data(), original.size());
      }
      g_registered_tables.add(mine.begin());
      const uint32_t ticket = g_rule_cache.ticket();
      const uint64_t address = mine.code(64);
      Rule rule{};
      if (expect(address, 10 + v, &rule)) {
        g_rule_cache.enter(address, rule, ticket);
      }
      expect(shared.code(1 << 15), 50, &rule);
      g_registered_tables.remove(mine.begin());
      if (g_rule_cache.find(address, &rule) || find_rule(address, &rule)) {
        wrong.fetch_add(1);
      }
    }
    (void)id;
  });
  EXPECT_EQ(0u, wrong.load());
  EXPECT_LT(lost.load(), kThreads * scaled(4000) / 10);
  EXPECT_EQ(1u, g_registered_tables.count());
  g_registered_tables.remove(shared.begin());
}

// The child of a fork has one thread, and what was registered.
TEST(Registered, ForkWhileOthersRegister) {
  if (testing_support::kThreadSanitizer) {
    GTEST_SKIP() << "ThreadSanitizer: fork of a process with threads";
  }
  const Section kept({2, 3}, 1 << 15);
  g_registered_tables.add(kept.begin());
  // The child allocates nothing: the allocator's locks may be held by threads that it does not have.
  const Section b({7});
  std::atomic<bool> ends{false};
  std::atomic<int> begun{0};
  run_threads(3, [&](int id) {
    if (id != 0) {
      const Section a({4, 5});
      begun.fetch_add(1);
      while (!ends.load()) {
        g_registered_tables.add(a.begin());
        g_registered_tables.remove(a.begin());
      }
      return;
    }
    while (begun.load() != 2) {
      std::this_thread::yield();
    }
    for (uint64_t i = 0; i < scaled(200); ++i) {
      in_child([&] {
        g_registered_tables.reset_in_child();
        g_rule_cache.reset_in_child();
        EXPECT_EQ(2u, words_at(g_registered_tables, kept.code(1 << 15)));
        for (int n = 0; n < 20; ++n) {
          g_registered_tables.add(b.begin());
          EXPECT_EQ(7u, words_at(g_registered_tables, b.code(0)));
          g_registered_tables.remove(b.begin());
          EXPECT_EQ(0u, words_at(g_registered_tables, b.code(0)));
        }
      });
    }
    ends.store(true);
  });
  g_registered_tables.remove(kept.begin());
}

class RegisteredWalk : public TableWalk {};

// Between functions of a module: code of nobody's, which uses the frame pointer for other things.
TEST_F(RegisteredWalk, BothWalksGoThroughIt) {
  Tables t;
  Cie absolute;
  absolute.augmentation_data = {0x00};
  const size_t cie = t.add_cie(absolute);
  // CFA = rsp + 24, rbp at CFA - 16, rbx at CFA - 24.
  t.add_fde_as(cie, 0, raw(in(kElsewhere, 0)), raw(uint64_t{64}), {0}, {0x0e, 24, 0x86, 2, 0x83, 3});
  put(10, {1, in(kElsewhere)});  // left kFlat
  put(12, {at(30), at(40), in(kFramed)});
  put(40, {0, in(kOddCfa)});  // by rbp, which the made code had saved
  put(30, {5, in(kFirst)});   // CFA = rbx + 16
  const Start start{in(kFlat), at(10), 0x1111};
  world_.call_sites = false;
  EXPECT_EQ(Walk::kNoRule, walk(start, bounds(10)).reason);
  g_registered_tables.add(t.base());
  const Walked first = walk(start, bounds(10));
  const std::vector<uint64_t> up{in(kFlat), in(kElsewhere), in(kFramed), in(kOddCfa)};
  EXPECT_EQ(up, first.frames);
  EXPECT_TRUE(first.needs_all);
  Rule rule{};
  EXPECT_TRUE(g_rule_cache.find(in(kElsewhere)-1, &rule));
  g_registered_tables.remove(t.base());
  EXPECT_FALSE(g_rule_cache.find(in(kElsewhere)-1, &rule));
  EXPECT_EQ(Walk::kNoRule, walk(start, bounds(10)).reason);
}

}  // namespace
}  // namespace memprof::registered_test
