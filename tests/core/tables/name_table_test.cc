// SPDX-License-Identifier: Apache-2.0
#include "core/tables/name_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::name_table_test {
namespace {

using testing_support::run_threads;
using testing_support::ScopedArena;

uint32_t intern(ScopedArena& a, const std::string& text) {
  return a.names.intern(text.data(), text.size());
}

TEST(NameTable, TheSameTextIsTheSameName) {
  ScopedArena a;
  const uint32_t libc = intern(a, "/lib/libc.so.6");
  const uint32_t empty = intern(a, "");
  EXPECT_NE(libc, empty);
  EXPECT_EQ(libc, intern(a, "/lib/libc.so.6"));
  EXPECT_EQ(empty, intern(a, ""));
  EXPECT_STREQ("/lib/libc.so.6", a.names.text(libc));
  EXPECT_STREQ("", a.names.text(empty));
  EXPECT_NE(libc, intern(a, "/lib/libc.so.6 "));
  EXPECT_NE(libc, intern(a, "/lib/libc.so."));
}

TEST(NameTable, ATextNeedsNoEndAndIsCopied) {
  ScopedArena a;
  char text[] = {'a', 'b', 'c', 'd'};
  const uint32_t id = a.names.intern(text, 3);
  text[0] = 'x';
  EXPECT_STREQ("abc", a.names.text(id));
}

TEST(NameTable, ALongTextIsCut) {
  ScopedArena a;
  const uint32_t id = intern(a, std::string(10000, 'x'));
  ASSERT_NE(NameTable::kNone, id);
  EXPECT_EQ(std::string(NameTable::kMaxNameBytes, 'x'), a.names.text(id));
  EXPECT_EQ(id, intern(a, std::string(NameTable::kMaxNameBytes, 'x')));
  EXPECT_NE(id, intern(a, std::string(NameTable::kMaxNameBytes - 1, 'x')));
}

TEST(NameTable, WhereThereIsNoTextNamesAreShortenedAndThenRefused) {
  ScopedArena a;
  const auto long_name = [](uint64_t i) { return std::to_string(i) + std::string(4000, 'y'); };
  uint64_t whole = 0;
  uint64_t entered = 0;
  for (uint32_t id; (id = intern(a, long_name(entered))) != NameTable::kNone;) {
    whole += a.names.text(id) == long_name(entered);
    ASSERT_LT(++entered, 100000u);
    ASSERT_TRUE(entered == whole || std::string(a.names.text(id)).find("y...") != std::string::npos);
  }
  const auto room = static_cast<double>(section_capacity(kTextSection, testing_support::kSmallLimits));
  EXPECT_NEAR(room / 4016, static_cast<double>(whole), 10);
  EXPECT_GT(entered, whole);
  EXPECT_EQ(5u, intern(a, long_name(5)));
  EXPECT_GT(a.header().sweep.shortages.load(), 0u);
}

TEST(NameTable, ANameThatNobodyUsesMakesRoomForAnother) {
  ScopedArena a;
  std::vector<uint32_t> ids;
  for (uint32_t id; (id = intern(a, "name " + std::to_string(ids.size()))) != NameTable::kNone;) {
    ids.push_back(id);
  }
  a.names.release(ids[7]);
  EXPECT_EQ(ids[7], intern(a, "name 7"));  // until somebody takes its place
  a.names.release(ids[7]);
  uint32_t another = NameTable::kNone;
  for (int tries = 0; tries < 1000 && another == NameTable::kNone; ++tries) {
    another = intern(a, "another");
  }
  EXPECT_EQ(ids[7], another);
  EXPECT_STREQ("another", a.names.text(another));
  EXPECT_EQ(NameTable::kNone, intern(a, "name 7"));
  EXPECT_EQ(ids[8], intern(a, "name 8"));
}

TEST(NameTable, AShortenedNameEndsWithAWholeCharacter) {
  ScopedArena a;
  for (uint64_t i = 0; a.header().sweep.shortages.load() == 0; ++i) {
    ASSERT_NE(NameTable::kNone, intern(a, std::to_string(i) + std::string(4000, 'y')));
  }
  std::string text = "x";
  while (text.size() < 4000) {
    text += "\xe2\x82\xac";
  }
  const uint32_t id = intern(a, text);
  ASSERT_NE(NameTable::kNone, id);
  const std::string kept = a.names.text(id);
  ASSERT_GT(kept.size(), 4u);
  EXPECT_EQ(1u, (kept.size() - 3) % 3);
  EXPECT_EQ(text.substr(0, kept.size() - 3) + "...", kept);
}

TEST(NameTable, EightThreadsInterningTheSameTextsShareIds) {
  ScopedArena a({1024, 1 << 16, 64});  // room for what slower threads enter in vain
  constexpr int kTexts = 4000;
  std::vector<std::vector<uint32_t>> ids(8, std::vector<uint32_t>(kTexts));
  run_threads(8, [&](int thread) {
    for (int i = 0; i < kTexts; ++i) {
      const int n = thread % 2 == 0 ? i : kTexts - 1 - i;
      ids[thread][n] = intern(a, "/usr/lib/libsomething-" + std::to_string(n) + ".so");
    }
  });
  for (int thread = 1; thread < 8; ++thread) {
    ASSERT_EQ(ids[0], ids[thread]);
  }
  EXPECT_EQ(size_t{kTexts}, std::set<uint32_t>(ids[0].begin(), ids[0].end()).size());
  for (int n = 0; n < kTexts; ++n) {
    ASSERT_EQ("/usr/lib/libsomething-" + std::to_string(n) + ".so", a.names.text(ids[0][n]));
  }
}

}  // namespace
}  // namespace memprof::name_table_test
