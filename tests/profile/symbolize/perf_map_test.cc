// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/perf_map.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> names(const std::vector<JitFrame>& frames) {
  std::vector<std::string> all;
  for (const JitFrame& frame : frames) all.push_back(frame.name);
  return all;
}

TEST(PerfMap, NamesWhatALineCovers) {
  const std::string map = "1000 10 first\n0x2000 0x20 second one\n";
  EXPECT_THAT(names(read_perf_map(map, {0xfff, 0x1000, 0x100f, 0x1010, 0x201f, 0x2020})),
              ElementsAre("", "first", "first", "", "second one", ""));
}

TEST(PerfMap, TheLastDefinitionWins) {
  const std::string map = "1000 100 old\n1080 10 young\n1000 20 again\n";
  EXPECT_THAT(names(read_perf_map(map, {0x1010, 0x1040, 0x1085, 0x1095})),
              ElementsAre("again", "old", "young", "old"));
}

TEST(PerfMap, OtherLinesAreLeftOut) {
  const std::string map =
      "\n1000\n1000 10\n1000 10 \nx 10 name\n1000 x name\n-1000 10 name\n1ffffffffffffffff 10 name\n1000 8 "
      "good";
  EXPECT_THAT(names(read_perf_map(map, {0x1000, 0x1008})), ElementsAre("good", ""));
}

TEST(PerfMap, TheEndOfMemoryIsNoTrap) {
  const std::string map = "fffffffffffffff0 ffffffffffffffff end\n";
  EXPECT_THAT(names(read_perf_map(map, {0, 1, 0xfffffffffffffff0, UINT64_MAX})),
              ElementsAre("", "", "end", "end"));
}

TEST(PerfMap, AFunctionOfV8IsOneInAllTiers) {
  for (const char* name :
       {"JS:~fill /app/a b.js:12:5", "JS:^fill /app/a b.js:12:5", "JS:+fill /app/a b.js:12:5",
        "JS:*fill /app/a b.js:12:5", "LazyCompile:*fill /app/a b.js:12:5", "JS:fill /app/a b.js:12:5"}) {
    const JitFrame frame = frame_of_jit_name(name);
    EXPECT_EQ(frame.name, "fill") << name;
    EXPECT_EQ(frame.file, "/app/a b.js") << name;
    EXPECT_EQ(frame.line, 0) << name;  // 12 is where the function begins, not where it called
  }
}

TEST(PerfMap, NamesOfV8ThatAreNoFunctions) {
  EXPECT_EQ(frame_of_jit_name("JS:~ node:internal/main:1:1").name, "(anonymous)");
  EXPECT_EQ(frame_of_jit_name("JS:~ node:internal/main:1:1").file, "node:internal/main");
  EXPECT_EQ(frame_of_jit_name("Script:~ /app/a.js:1:1").name, "(program)");
  for (const char* name :
       {"Builtin:ArrayMap", "JS:~odd", "JS:", "JS:~f file:1", "JS:~f file:1:", "Lcom/x/Y;::run"}) {
    EXPECT_EQ(frame_of_jit_name(name).name, name);
    EXPECT_EQ(frame_of_jit_name(name).file, "");
  }
}

TEST(PerfMap, AnythingIsRead) {
  std::string noise;
  uint32_t state = 1;
  for (int i = 0; i < 100'000; ++i) {
    state = state * 1664525 + 1013904223;
    noise += "0123456789abcdef \nx\0"[(state >> 16) % 20];
  }
  EXPECT_EQ(read_perf_map(noise, {0, 0x10, 0x123, UINT64_MAX}).size(), 4u);
}

}  // namespace
}  // namespace memprof::profile
