// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/jit/perf_map.h"

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

// As node 18, 20, 22 and 24 wrote them with --perf-basic-prof.
TEST(PerfMap, LinesOfNode) {
  struct Line {
    const char* name;
    const char* function;
    const char* file;
  };
  for (const Line& line : {
           // 18: no column, and a tag by the way it was compiled
           Line{"LazyCompile:~fill /app/app.js:8", "fill", "/app/app.js"},
           {"Function:^fill /app/app.js:8", "fill", "/app/app.js"},
           {"LazyCompile:*fill /app/app.js:8", "fill", "/app/app.js"},
           {"LazyCompile:~ /app/app.js:17", "(anonymous)", "/app/app.js"},
           {"LazyCompile:~#hidden /app/app.js:7", "#hidden", "/app/app.js"},
           {"Function:^get value /app/a b.js:4", "get value", "/app/a b.js"},
           {"Function:~<static_initializer> /app/a b.js:3", "<static_initializer>", "/app/a b.js"},
           {"LazyCompile:*inVm evalmachine.<anonymous>:1", "inVm", "evalmachine.<anonymous>"},
           {"LazyCompile:*inEval :1", "inEval", ""},
           {"LazyCompile:~get node:fs:3228", "get", "node:fs"},
           {"LazyCompile:~get ReadStream node:fs:3165", "get ReadStream", "node:fs"},
           {"LazyCompile:~esm file:///app/c.mjs:1", "esm", "file:///app/c.mjs"},
           {"Eval:~ /app/app.js:1", "(program)", "/app/app.js"},
           {"Script:~ evalmachine.<anonymous>:1", "(program)", "evalmachine.<anonymous>"},
           // 20 and 22
           {"JS:~fill /app/app.js:8:14", "fill", "/app/app.js"},
           {"JS:^set value /app/app.js:5:12", "set value", "/app/app.js"},
           {"JS:^get a b /app/b.js:2:57", "get a b", "/app/b.js"},
           {"JS:~two words /app/b.js:2:24", "two words", "/app/b.js"},
           {"JS:^x/y /app/b.js:2:86", "x/y", "/app/b.js"},
           {"JS:* evalmachine.<anonymous>:1:1", "(anonymous)", "evalmachine.<anonymous>"},
           {"JS:*inEval :1:16", "inEval", ""},
           {"JS:~esm file:///app/c.mjs:1:46", "esm", "file:///app/c.mjs"},
           // 24: code that is for one closure
           {"JS:+fill /app/app.js:8:14", "fill", "/app/app.js"},
           {"JS:+'fill /app/app.js:8:14", "fill", "/app/app.js"},
           {"JS:*'fill /app/app.js:8:14", "fill", "/app/app.js"},
           {"JS:+'get value /app/app.js:4:12", "get value", "/app/app.js"},
           {"JS:+'#hidden /app/app.js:7:10", "#hidden", "/app/app.js"},
           {"JS:+' /app/app.js:22:2", "(anonymous)", "/app/app.js"},
           {"JS:+'get size evalmachine.<anonymous>:1:9", "get size", "evalmachine.<anonymous>"},
       }) {
    const JitFrame frame = frame_of_jit_name(line.name);
    EXPECT_EQ(frame.name, line.function) << line.name;
    EXPECT_EQ(frame.file, line.file) << line.name;
    EXPECT_EQ(frame.line, 0) << line.name;
  }
}

TEST(PerfMap, NamesOfV8ThatAreNoFunctions) {
  EXPECT_EQ(frame_of_jit_name("JS:~ node:internal/main:1:1").name, "(anonymous)");
  EXPECT_EQ(frame_of_jit_name("JS:~ node:internal/main:1:1").file, "node:internal/main");
  EXPECT_EQ(frame_of_jit_name("Script:~ /app/a.js:1:1").name, "(program)");
  for (const char* name : {"Builtin:ArrayMap", "JS:~odd", "JS:", "JS:~f", "JS:~:1",
                           "JS:~f file:1:", "RegExp:^[A-Z]+$", "Lcom/x/Y;::run"}) {
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
