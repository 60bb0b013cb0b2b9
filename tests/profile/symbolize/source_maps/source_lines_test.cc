// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/source_maps/source_lines.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "profile/files/base64.h"
#include "tests/profile/report_fixture.h"
#include "tests/support/folder.h"

namespace memprof::profile {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr uint64_t kNsPerSecond = 1'000'000'000;

class SourceLines : public ::testing::Test {
 protected:
  SourceLines() {
    builder_.profile().time_unix_ns = static_cast<uint64_t>(time(nullptr) + 3600) * kNsPerSecond;
  }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_.path(name);
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    std::ofstream(path) << text;
    return path;
  }

  // A stack of one line of a script.
  void allocates(const std::string& function, const std::string& file, int64_t line) {
    builder_.stack({builder_.python(function, file, line)}, 1 << 20, 3, 2);
  }

  SourceMapSummary apply(const std::string& maps = {}) {
    return apply_source_maps({maps}, &builder_.profile());
  }

  // "function file:line" of each stack, files seen from the folder.
  std::vector<std::string> places() {
    std::vector<std::string> places;
    for (const Stack& stack : builder_.profile().stacks) {
      const Line& line = builder_.profile().locations[stack.locations.at(0)].lines.at(0);
      const Function& function = builder_.profile().functions[line.function];
      std::string file = function.filename;
      const std::string own = folder_.path("");  // with the slash
      if (file.compare(0, own.size(), own) == 0) file = file.substr(own.size());
      places.push_back(function.name + " " + file + ":" + std::to_string(line.line));
    }
    return places;
  }

  testing_support::TemporaryFolder folder_;
  report_fixture::Builder builder_;
};

// Lines 1 and 2 are lines 1 and 3 of a.ts, line 3 is line 1 again; line 5 is of all.
constexpr char kMap[] =
    R"({"version": 3, "sources": ["../src/a.ts"], "mappings": "AAAA;AAEA;AAFA;;AAAA,EAoBA"})";

TEST_F(SourceLines, a_map_beside_the_script) {
  const std::string script = write("dist/a.js", "x\nx\nx\nx\nx\n//# sourceMappingURL=maps/a%20b.map\n");
  write("dist/maps/a b.map", R"({"sources": ["../../src/a.ts"], "mappings": "AAAA;AAEA"})");
  allocates("f", script, 2);
  allocates("g", "file://" + script, 1);
  allocates("h", script, 7);
  const SourceMapSummary summary = apply();
  EXPECT_THAT(places(), ElementsAre("f src/a.ts:3", "g src/a.ts:1", "h dist/a.js:7"));
  EXPECT_EQ(summary.scripts, 2u);
  EXPECT_EQ(summary.mapped, 2u);
  EXPECT_THAT(summary.warnings, IsEmpty());
}

TEST_F(SourceLines, a_map_inside_of_the_script_and_one_without_a_comment) {
  const std::string inside =
      write("dist/a.cjs", "x\n//# sourceMappingURL=data:application/json;base64," + base64(kMap));
  const std::string beside = write("dist/b.mjs", "x\n");
  write("dist/b.mjs.map", kMap);
  allocates("f", inside, 2);
  allocates("g", beside, 1);
  EXPECT_THAT(apply().warnings, IsEmpty());
  EXPECT_THAT(places(), ElementsAre("f src/a.ts:3", "g src/a.ts:1"));
}

TEST_F(SourceLines, stacks_that_become_equal_are_summed) {
  const std::string script = write("dist/a.js", "x\n");
  write("dist/a.js.map", kMap);
  allocates("f", script, 1);
  allocates("f", script, 3);
  allocates("f", script, 2);
  apply();
  EXPECT_THAT(places(), ElementsAre("f src/a.ts:1", "f src/a.ts:3"));
  EXPECT_EQ(builder_.profile().stacks[0].allocated.samples, 6u);
  EXPECT_EQ(builder_.profile().stacks[1].allocated.samples, 3u);
}

TEST_F(SourceLines, maps_in_another_folder_come_first) {
  const std::string script = write("dist/a.js", "x\n//# sourceMappingURL=data:,broken");
  write("maps/a.js.map", kMap);
  allocates("f", script, 2);
  allocates("g", folder_.path("gone/a.js"), 2);  // the script itself need not be there
  EXPECT_THAT(apply(folder_.path("maps")).warnings, IsEmpty());
  EXPECT_THAT(places(), ElementsAre("f src/a.ts:3", "g src/a.ts:3"));
}

TEST_F(SourceLines, what_is_not_a_script_of_a_file_stays) {
  write("dist/a.js.map", kMap);
  allocates("native", folder_.path("dist/a.cc"), 2);
  allocates("node", "node:internal/a.js", 2);
  allocates("eval", "a.js", 2);
  const SourceMapSummary summary = apply();
  EXPECT_EQ(summary.scripts, 0u);
  EXPECT_THAT(places(), ElementsAre("native dist/a.cc:2", "node node:internal/a.js:2", "eval a.js:2"));
}

TEST_F(SourceLines, minified_lines_stay_and_are_told) {
  const std::string script = write("dist/a.js", "x\n");
  write("dist/a.js.map", kMap);
  allocates("f", script, 5);
  EXPECT_THAT(apply().warnings,
              ElementsAre(HasSubstr("dist/a.js: is minified: 1 place is in a line that stands for many")));
  EXPECT_THAT(places(), ElementsAre("f dist/a.js:5"));
}

TEST_F(SourceLines, files_that_cannot_be_used_are_told) {
  struct {
    const char* script;
    const char* why;
  } const cases[] = {
      {"//# sourceMappingURL=gone.map", "/dist/gone.map is not there"},
      {"//# sourceMappingURL=https://example.com/a.map", "its map is not a file: sourceMappingURL=https://"},
      {"//# sourceMappingURL=data:application/json;base64,x", "the data of its sourceMappingURL are damaged"},
      {"//# sourceMappingURL=data:application/json,[]", "is no source map: a list"},
      {"//# sourceMappingURL=../dist", "dist: not a regular file"},
      {"//# sourceMappingURL=bad.map", "bad.map: its mappings are damaged"}};
  write("dist/bad.map", R"({"sources": ["a.ts"], "mappings": "AAAA,A!"})");
  for (const auto& one : cases) {
    builder_ = report_fixture::Builder();
    builder_.profile().time_unix_ns = static_cast<uint64_t>(time(nullptr) + 3600) * kNsPerSecond;
    const std::string script = write("dist/a.js", one.script);
    allocates("f", script, 1);
    const SourceMapSummary summary = apply();
    EXPECT_THAT(summary.warnings, ElementsAre(HasSubstr(one.why)));
    EXPECT_EQ(summary.mapped, 0u);
    EXPECT_THAT(places(), ElementsAre("f dist/a.js:1"));
  }
}

TEST_F(SourceLines, a_script_that_changed_is_not_used) {
  const std::string script = write("dist/a.js", "x\n");
  write("dist/a.js.map", kMap);
  allocates("f", script, 1);
  builder_.profile().time_unix_ns = static_cast<uint64_t>(time(nullptr) - 3600) * kNsPerSecond;
  EXPECT_THAT(apply().warnings,
              ElementsAre(HasSubstr("dist/a.js: changed after it was profiled; no lines of sources")));
  EXPECT_THAT(places(), ElementsAre("f dist/a.js:1"));
}

}  // namespace
}  // namespace memprof::profile
