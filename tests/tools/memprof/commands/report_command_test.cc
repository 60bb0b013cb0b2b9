// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/report_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profile/text/markup/json_text.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_tools::memprof;

class ReportCommand : public ::testing::Test {
 protected:
  ReportCommand() : file_(folder_ / "p.pb.gz") {
    testing_tools::write_file(file_, profile::write_pprof(testing_tools::small_profile()));
  }
  testing_tools::Folder folder_;
  std::string file_;
};

TEST_F(ReportCommand, PrintsATable) {
  const auto result = memprof({"report", file_});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("server (pid 4711)"));
  EXPECT_THAT(result.out, HasSubstr("300 B  0%  100.0%       3      300 B  300 B  100.0%  insert(int)"));
}

TEST_F(ReportCommand, PrintsJson) {
  const auto json = profile::json_from_text(memprof({"report", "--json", file_}).out);
  EXPECT_EQ(json["rows"].size(), 2u);
  EXPECT_EQ(json["rows"][0]["name"], "insert(int)");
  EXPECT_EQ(profile::json_from_text(memprof({"report", "--json", "-n", "1", file_}).out)["rows"].size(), 1u);
}

TEST_F(ReportCommand, GroupsAndLimits) {
  EXPECT_THAT(memprof({"report", file_, "--by", "module"}).out, Not(HasSubstr("insert")));
  EXPECT_THAT(memprof({"report", file_, "-n", "1"}).out, HasSubstr("1 of 2 rows shown; -n 2 shows all."));
  EXPECT_THAT(memprof({"report", file_, "--metric", "alloc_objects"}).out, HasSubstr("allocations"));
}

TEST_F(ReportCommand, ReadsStandardInput) {
  const auto result = testing_tools::run({"sh", "-c", std::string(MEMPROF_PROGRAM) + " report - <" + file_});
  EXPECT_THAT(result.out, HasSubstr("insert(int)"));
}

TEST_F(ReportCommand, ShowsATree) {
  const auto result = memprof({"report", file_, "--tree"}, {{"LC_ALL", "C.UTF-8"}});
  EXPECT_EQ(result.status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("300 B  0%  100.0%  300 B       3  main → insert(int)\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("cumulative"))) << "no table";
  EXPECT_THAT(memprof({"report", file_, "--tree", "--depth", "0"}).out, HasSubstr("none shown"));
}

TEST_F(ReportCommand, ShowsCallersAndCallees) {
  const auto result = memprof({"report", file_, "--callers", "insert", "--callees", "main"});
  EXPECT_THAT(result.out, HasSubstr("Callers of insert(int): 300 B live"));
  EXPECT_THAT(result.out, HasSubstr("Callees of main: 300 B live"));
  EXPECT_THAT(result.out, Not(HasSubstr("cumulative"))) << "no table";
}

TEST_F(ReportCommand, FocusAndIgnore) {
  EXPECT_THAT(memprof({"report", file_, "--focus", "INSERT"}).out, HasSubstr("0 B of 300 B total"));
  EXPECT_THAT(memprof({"report", file_, "--focus", "(?i)INSERT"}).out, HasSubstr("300 B of 300 B total"));
  EXPECT_THAT(memprof({"report", file_, "--ignore=server"}).out, HasSubstr("0 B of 300 B total"));
}

TEST_F(ReportCommand, AllOfItIsInTheJson) {
  const auto json = profile::json_from_text(memprof({"report", file_, "--json", "--tree", "--focus", "main",
                                                     "--metric", "alloc_space", "--by", "module"})
                                                .out);
  EXPECT_EQ(json["tree"]["nodes"][0]["frames"][0]["name"], "server");
  EXPECT_EQ(json["selected"]["alloc_space"]["value"], json["totals"]["alloc_space"]["value"]);
  EXPECT_EQ(json["stack_health"]["confidence"], "high");
  EXPECT_FALSE(json["rows"].empty());
  const auto calls = profile::json_from_text(memprof({"report", file_, "--json", "--callers", "insert"}).out);
  EXPECT_EQ(calls["callers"]["rows"][0]["name"], "main");
}

TEST_F(ReportCommand, TheLocaleAndTheWidthAreRespected) {
  const auto ascii = memprof({"report", file_, "--tree"}, {{"LC_ALL", "C"}, {"COLUMNS", "50"}});
  EXPECT_THAT(ascii.out, HasSubstr("main -> insert(int)\n"));
  for (const char c : ascii.out) EXPECT_GE(c, 0);
  for (const char* option : {"--help", "-h"}) {
    for (const char c : memprof({"report", option}, {{"LC_ALL", "C"}}).out) EXPECT_GE(c, 0) << option;
  }
  const auto narrow = memprof({"report", file_}, {{"LC_ALL", "C"}, {"COLUMNS", "50"}});
  EXPECT_THAT(narrow.out, HasSubstr("Sampled: every allocation, 3 samples; --details\n  says more\n"));
}

TEST_F(ReportCommand, ErrorsAreOneLineAndStatusTwo) {
  testing_tools::write_file(folder_ / "empty", "");
  testing_tools::write_file(folder_ / "text", "this is not a profile\n");
  testing_tools::write_file(folder_ / "cut", testing_tools::read_file(file_).substr(0, 60));
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"report", "-n", "3"}, "no profile given"},
      {{"report", folder_ / "gone"}, folder_ / "gone"},
      {{"report", folder_ / "empty"}, folder_ / "empty"},
      {{"report", folder_ / "text"}, folder_ / "text"},
      {{"report", folder_ / "cut"}, folder_ / "cut"},
      {{"report", folder_.path()}, folder_.path()},
      {{"report", file_, "--by", "colour"}, "'colour'"},
      {{"report", file_, "--metric", "rss"}, "'rss'"},
      {{"report", file_, "--younger", "1s"},
       "--younger: applies to what is temporary; add --metric temporary"},
      {{"report", file_, "--metric", "temporary", "--younger", "soon"}, "--younger: 'soon' is not a time"},
      {{"report", file_, "-n", "many"}, "'many'"},
      {{"report", file_, "--by"}, "--by needs a value"},
      {{"report", file_, "--loud"}, "'--loud'"},
      {{"report", file_, file_}, file_},
      {{"report", file_, "--focus", "["}, "--focus: '[' is not a regular expression: missing ]"},
      {{"report", file_, "--ignore", "a**"}, "--ignore: 'a**' is not a regular expression"},
      {{"report", file_, "--focus", ""}, "--focus: an empty expression"},
      {{"report", file_, "--callers", "isnert"}, "matches 'isnert'; did you mean 'insert(int)'?"},
      {{"report", file_, "--callees", ""}, "--callees: the name of the function is empty"},
      {{"report", file_, "--tree", "--min-percent", "101"}, "--min-percent: '101'"},
      {{"report", file_, "--tree", "--min-percent", "x"}, "--min-percent: 'x'"},
      {{"report", file_, "--tree", "--depth", "-1"}, "--depth"},
      {{"report", file_, "--depth", "1"}, "--depth: applies to trees only; add --tree"},
  };
  for (const auto& [arguments, expected] : cases) {
    const auto result = memprof(arguments);
    EXPECT_EQ(result.status, 2) << expected;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(expected));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

}  // namespace
}  // namespace memprof::cli
