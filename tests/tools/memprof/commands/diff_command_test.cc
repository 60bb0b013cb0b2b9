// SPDX-License-Identifier: Apache-2.0
// Running processes are compared in tests/e2e/diff_test.py.
#include "memprof/commands/diff_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "profile/text/markup/json_text.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using testing_tools::memprof;
using testing_tools::read_file;
using testing_tools::write_file;

class DiffCommand : public ::testing::Test {
 protected:
  DiffCommand() : before_(folder_ / "old.pb.gz"), after_(folder_ / "new.pb.gz") {
    profile::Profile p = testing_tools::small_profile();
    write_file(before_, profile::write_pprof(p));
    p.stacks[0].live = {{100, 0, 5}};
    p.stacks[0].allocated = {5, 500, 500, 5, 0, 0, 0, 0};
    p.samples = p.live_samples = 5;
    write_file(after_, profile::write_pprof(p));
    p.from_memprof = false;
    p.stacks[0].has_statistics = false;
    p.stacks[0].values = {5, 500, 5, 500};
    write_file(folder_ / "foreign.pb.gz", profile::write_pprof(p));
  }
  testing_tools::Folder folder_;
  std::string before_;
  std::string after_;
};

TEST_F(DiffCommand, PrintsWhatGrew) {
  const auto result = memprof({"diff", before_, after_});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("Live:      300 B to 500 B: +200 B, +66.7 %, exact\n"));
  EXPECT_THAT(result.out, HasSubstr("Grew: 1 function\n"));
  EXPECT_THAT(result.out, HasSubstr("+200 B"));
  EXPECT_THAT(memprof({"diff", after_, before_}).out, HasSubstr("Shrank: 1 function\n"));
  EXPECT_THAT(memprof({"diff", before_, before_}).out, HasSubstr("1 function did not change significantly"));
}

TEST_F(DiffCommand, SelectsAsReportDoes) {
  EXPECT_THAT(memprof({"diff", before_, after_, "--focus", "nobody"}).out, HasSubstr("Neither side"));
  EXPECT_THAT(memprof({"diff", before_, after_, "--by", "module"}).out, HasSubstr("Grew: 1 module\n"));
  EXPECT_THAT(memprof({"diff", before_, after_, "--metric", "alloc_objects"}).out,
              HasSubstr("Allocations: 3 to 5: +2"));
  EXPECT_THAT(memprof({"diff", before_, after_, "--tree"}, {{"LC_ALL", "C"}}).out,
              HasSubstr("main -> insert(int)\n"));
}

TEST_F(DiffCommand, OtherFormats) {
  const auto json = profile::json_from_text(memprof({"diff", before_, after_, "--json"}).out);
  EXPECT_EQ(json["rows"][0]["change"]["value"], 200);
  EXPECT_THAT(memprof({"diff", before_, after_, "--markdown"}).out,
              HasSubstr("| `insert(int) (server)` | +200 B |"));
  const auto to_file = memprof({"diff", before_, after_, "--markdown", "-o", folder_ / "x.md"});
  EXPECT_EQ(to_file.out, "");
  EXPECT_THAT(read_file(folder_ / "x.md"), HasSubstr("+200 B"));
  EXPECT_THAT(memprof({"diff", before_, after_, "-o", folder_ / "x.md"}).err, HasSubstr("already exists"));
  EXPECT_EQ(memprof({"diff", before_, after_, "-o", folder_ / "x.md", "--force"}).status, 0);
}

TEST_F(DiffCommand, LimitsDecideTheStatus) {
  const auto fail = memprof({"diff", before_, after_, "--fail-on", "growth > 150", "--fail-on", "alloc > 90%",
                             "--junit", folder_ / "j.xml"});
  EXPECT_EQ(fail.status, 1);
  EXPECT_THAT(fail.err, HasSubstr("FAIL: growth > 150: inuse_space 300 B to 500 B"));
  EXPECT_THAT(fail.err, HasSubstr("pass: alloc > 90%"));
  EXPECT_THAT(fail.out, HasSubstr("Grew"));
  EXPECT_THAT(read_file(folder_ / "j.xml"), HasSubstr("tests=\"2\" failures=\"1\""));
  EXPECT_EQ(memprof({"diff", before_, after_, "--fail-on", "growth > 200"}).status, 0);
  EXPECT_EQ(memprof({"diff", before_, after_, "--fail-on", "growth >= 200"}).status, 1);
  const auto junit = memprof({"diff", before_, after_, "--fail-on", "row > 1", "--junit", "-"});
  EXPECT_EQ(junit.status, 1);
  EXPECT_EQ(junit.out.find("<?xml"), 0u);
}

TEST_F(DiffCommand, GroupsAreMeans) {
  const auto result = memprof({"diff", "--before", before_, before_, "--after", after_, before_, "-n", "3"});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("server, 2 files (their mean)"));
  EXPECT_THAT(result.out, HasSubstr("300 B to 400 B: +100 B"));
  EXPECT_THAT(memprof({"diff", "--after=" + after_, "--before", before_}).err, HasSubstr("--after"));
}

TEST_F(DiffCommand, FilesOfOthersAreShownWithoutCertainty) {
  const auto result = memprof({"diff", before_, folder_ / "foreign.pb.gz"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("was not written by memprof"));
  EXPECT_THAT(result.out, HasSubstr("+200 B"));
  const auto gate = memprof({"diff", before_, folder_ / "foreign.pb.gz", "--fail-on", "growth > 1"});
  EXPECT_EQ(gate.status, 2);
  EXPECT_THAT(gate.err, HasSubstr("is not known of files that memprof did not write"));
}

TEST_F(DiffCommand, ErrorsAreOneLineAndStatusTwo) {
  write_file(folder_ / "text", "this is not a profile\n");
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"diff", before_}, "two profiles are needed"},
      {{"diff", before_, after_, after_}, "more than two"},
      {{"diff", before_, folder_ / "gone"}, folder_ / "gone"},
      {{"diff", before_, folder_ / "text"}, folder_ / "text"},
      {{"diff", before_, "999999999"}, "process 999999999 does not exist"},
      {{"diff", "-", "-"}, "standard input can be one"},
      {{"diff", "--before", before_}, "each need a file"},
      {{"diff", before_, "--before", before_, "--after", after_}, "is it before or after?"},
      {{"diff", before_, after_, "--by", "colour"}, "'colour'"},
      {{"diff", before_, after_, "--metric", "rss"}, "'rss'"},
      {{"diff", before_, after_, "--focus", "["}, "--focus: '['"},
      {{"diff", before_, after_, "--fail-on", "groth > 5MB"}, "--fail-on: 'groth > 5MB': 'groth'"},
      {{"diff", before_, after_, "--junit", folder_ / "j"}, "--fail-on"},
      {{"diff", before_, after_, "--json", "--markdown"}, "One of them"},
      {{"diff", before_, after_, "--fail-on", "row > 1", "--junit", "-", "--json"}, "give a file"},
      {{"diff", before_, after_, "--loud"}, "'--loud'"},
      {{"diff", before_, after_, "-o", folder_.path()}, "is a folder"},
  };
  for (const auto& [arguments, text] : cases) {
    const auto result = memprof(arguments);
    EXPECT_EQ(result.status, 2) << text;
    EXPECT_THAT(result.err, HasSubstr(text));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.out, "") << text;
  }
}

}  // namespace
}  // namespace memprof::cli
