// SPDX-License-Identifier: Apache-2.0
#include "core/tables/code_table.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::code_table_test {
namespace {

using testing_support::run_threads;
using testing_support::ScopedArena;

struct Source {
  std::string function = "f";
  std::string file = "a.py";
  std::string lines = "\x87\x01";
  uint32_t first_line = 1;

  CodeFacts facts() const {
    return {function.data(),
            static_cast<uint32_t>(function.size()),
            file.data(),
            static_cast<uint32_t>(file.size()),
            reinterpret_cast<const uint8_t*>(lines.data()),
            lines.size(),
            first_line,
            1};
  }
};

class CodeTableTest : public testing::Test {
 protected:
  ScopedArena a_{{1024, CodeTable::kMaxCodes, 64}};
  NameTable names_{a_.arena};
  CodeTable codes_{a_.arena, &names_};
};

TEST_F(CodeTableTest, TheSameContentIsTheSameCode) {
  const uint32_t id = codes_.intern(Source{}.facts());
  ASSERT_NE(CodeTable::kNone, id);
  const Source made_anew;
  EXPECT_EQ(id, codes_.intern(made_anew.facts()));
}

TEST_F(CodeTableTest, WhateverDiffersMakesAnotherOne) {
  std::set<uint32_t> ids{codes_.intern(Source{}.facts())};
  Source s;
  s.function = "g";
  ids.insert(codes_.intern(s.facts()));
  s = {};
  s.file = "b.py";
  ids.insert(codes_.intern(s.facts()));
  s = {};
  s.lines = "\x87\x03";
  ids.insert(codes_.intern(s.facts()));
  s = {};
  s.first_line = 2;
  ids.insert(codes_.intern(s.facts()));
  EXPECT_EQ(5u, ids.size());
  EXPECT_EQ(0u, ids.count(CodeTable::kNone));
}

TEST_F(CodeTableTest, KeepsWhatItWasToldAfterTheCodeIsGone) {
  Source s;
  s.function = "gone";
  const uint32_t id = codes_.intern(s.facts());
  s.function.assign(s.function.size(), 'x');
  s.lines.assign(s.lines.size(), 'x');
  const CodeEntry& e = *a_.arena.at<CodeEntry>(kCodeSection, id * sizeof(CodeEntry));
  EXPECT_STREQ("gone", names_.text(e.function));
  EXPECT_STREQ("a.py", names_.text(e.file));
  EXPECT_EQ(0, memcmp("\x87\x01", a_.arena.at<char>(kTextSection, TextPiece::place(e.lines)), e.lines_bytes));
}

TEST_F(CodeTableTest, ALongLineTableIsCut) {
  Source s;
  s.lines.assign(CodeTable::kMaxLinesBytes + 100, '\x87');
  const uint32_t id = codes_.intern(s.facts());
  ASSERT_NE(CodeTable::kNone, id);
  EXPECT_EQ(CodeTable::kMaxLinesBytes,
            a_.arena.at<CodeEntry>(kCodeSection, id * sizeof(CodeEntry))->lines_bytes);
}

TEST_F(CodeTableTest, IsFullWithoutHarm) {
  Source s;
  uint32_t made = 0;
  for (uint32_t i = 0; i < CodeTable::kMaxCodes + 10; ++i) {
    s.first_line = i;
    made += codes_.intern(s.facts()) != CodeTable::kNone;
  }
  EXPECT_EQ(CodeTable::kMaxCodes, made);
  s.first_line = 0;
  EXPECT_NE(CodeTable::kNone, codes_.intern(s.facts()));  // what is in is found
}

TEST_F(CodeTableTest, ThreadsAgree) {
  constexpr uint32_t kCodes = 500;
  constexpr int kThreads = 4;
  std::vector<std::vector<uint32_t>> ids(static_cast<size_t>(kThreads), std::vector<uint32_t>(kCodes));
  run_threads(kThreads, [&](int thread) {
    const auto t = static_cast<size_t>(thread);
    Source s;
    for (uint32_t i = 0; i < kCodes; ++i) {
      s.first_line = i;
      ids[t][i] = codes_.intern(s.facts());
    }
  });
  for (size_t t = 1; t < ids.size(); ++t) {
    EXPECT_EQ(ids[0], ids[t]);
  }
  EXPECT_EQ(kCodes, std::set<uint32_t>(ids[0].begin(), ids[0].end()).size());
}

}  // namespace
}  // namespace memprof::code_table_test
