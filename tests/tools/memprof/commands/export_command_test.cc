// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/export_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profile/pprof/pprof_reader.h"
#include "profile/text/markup/json_text.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using testing_tools::memprof;
using testing_tools::read_file;

class ExportCommand : public ::testing::Test {
 protected:
  ExportCommand() : file_(folder_ / "p.pb.gz") {
    testing_tools::write_file(file_, profile::write_pprof(testing_tools::small_profile()));
  }
  // What an export to a file of this name writes.
  std::string exported(const std::string& name) {
    const auto result = memprof({"export", file_, "-o", folder_ / name});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.err + result.out, "");
    return read_file(folder_ / name);
  }
  testing_tools::Folder folder_;
  std::string file_;
};

TEST_F(ExportCommand, WritesEveryFormat) {
  EXPECT_EQ(exported("a.collapsed"), "main;insert(int) 300\n");
  const auto speedscope = profile::json_from_text(exported("a.speedscope.json"));
  EXPECT_EQ(speedscope["$schema"], "https://www.speedscope.app/file-format-schema.json");
  EXPECT_TRUE(profile::json_from_text(exported("a.json")).is_object());
  EXPECT_EQ(profile::read_pprof(exported("a.pb"), "a.pb").samples, 3u);
  EXPECT_EQ(profile::read_pprof(exported("b.pb.gz"), "b.pb.gz").samples, 3u);
  EXPECT_EQ(read_file(folder_ / "b.pb.gz").substr(0, 2), "\x1f\x8b");
  EXPECT_NE(read_file(folder_ / "a.pb").substr(0, 2), "\x1f\x8b");
}

TEST_F(ExportCommand, StandardOutputNeedsAFormat) {
  EXPECT_EQ(memprof({"export", file_, "-o", "-", "--format", "collapsed"}).out, "main;insert(int) 300\n");
  EXPECT_EQ(memprof({"export", file_, "-o", "-"}).status, 2);
}

TEST_F(ExportCommand, CollapsedTakesAMetric) {
  const auto result =
      memprof({"export", file_, "-o", "-", "--format", "collapsed", "--metric", "inuse_objects"});
  EXPECT_EQ(result.out, "main;insert(int) 3\n");
}

TEST_F(ExportCommand, OnlyWhatIsAskedFor) {
  const auto collapsed = [&](const std::vector<std::string>& options) {
    std::vector<std::string> arguments = {"export", file_, "-o", "-", "--format", "collapsed"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return memprof(arguments);
  };
  EXPECT_EQ(collapsed({"--focus", "insert"}).out, "main;insert(int) 300\n");
  const auto none = collapsed({"--ignore", "insert"});
  EXPECT_EQ(none.out, "");
  EXPECT_THAT(none.err, HasSubstr("leave no stack"));
  EXPECT_EQ(collapsed({"--process", "no such"}).out, "");
  EXPECT_THAT(collapsed({"--by", "process"}).out, HasSubstr("[default] 300"));
}

TEST_F(ExportCommand, SinceAnEarlierProfile) {
  const std::string old = folder_ / "old.pb";
  testing_tools::write_file(old, profile::write_pprof(testing_tools::small_profile()));
  const auto since = [&](const std::string& earlier, const std::string& metric) {
    return memprof(
        {"export", file_, "--since", earlier, "-o", "-", "--format", "collapsed", "--metric", metric});
  };
  EXPECT_EQ(since(old, "alloc").out, "");
  EXPECT_EQ(since(old, "live").out, "main;insert(int) 300\n");
  profile::Profile other = testing_tools::small_profile();
  other.pid = 1;
  testing_tools::write_file(old, profile::write_pprof(other));
  const auto refused = since(old, "alloc");
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--since: " + old + ": is of another process"));
  EXPECT_EQ(since(folder_ / "gone", "alloc").status, 2);
  EXPECT_THAT(memprof({"export", "-", "--since", "-", "-o", "-", "--format", "json"}).err,
              HasSubstr("one profile only"));
}

TEST_F(ExportCommand, HelpListsTheTableOfFormats) {
  const std::string help = memprof({"export", "--help"}).out;
  for (const char* part :
       {".pb.gz ", ".speedscope.json", ".collapsed", ".html", "--process REGEX", "--all-frames"}) {
    EXPECT_THAT(help, HasSubstr(part));
  }
}

TEST_F(ExportCommand, AnExistingFileNeedsForce) {
  testing_tools::write_file(folder_ / "a.json", "precious");
  const auto refused = memprof({"export", file_, "-o", folder_ / "a.json"});
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr("--force"));
  EXPECT_EQ(read_file(folder_ / "a.json"), "precious");
  EXPECT_EQ(memprof({"export", file_, "-o", folder_ / "a.json", "--force"}).status, 0);
  EXPECT_NE(read_file(folder_ / "a.json"), "precious");
}

TEST_F(ExportCommand, ErrorsAreOneLineAndLeaveNothing) {
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"export", "-o", folder_ / "a.json"}, "no profile given"},
      {{"export", file_}, "no output given"},
      {{"export", folder_ / "gone", "-o", folder_ / "a.json"}, folder_ / "gone"},
      {{"export", file_, "-o", folder_ / "a.gif"},
       "unknown ending; the name must end in .pb.gz, .pb, .html, .svg, .speedscope.json"},
      {{"export", file_, "-o", folder_ / "a.json", "--format", "gif"}, "'gif'"},
      {{"export", file_, "-o", folder_ / "gone/a.json"}, "gone"},
      {{"export", file_, "-o", folder_.path(), "--format", "json"}, folder_.path()},
      {{"export", file_, "-o", folder_ / "a.json", "--metric", "inuse_space"}, "--metric: .json"},
      {{"export", file_, "-o", folder_ / "a.html", "--by", "module"}, "leave out --by"},
      {{"export", file_, "-o", folder_ / "a.html", "--native-interpreter"}, "a page has all frames"},
      {{"export", file_, "-o", folder_ / "a.json", "--by", "colour"}, "'colour'"},
      {{"export", file_, "-o", folder_ / "a.json", "--focus", "("}, "--focus: '('"},
      {{"export", file_, "-o", folder_ / "a.collapsed", "--metric", "rss"}, "'rss'"},
      {{"export", file_, "-o"}, "needs a value"},
      {{"export", file_, file_, "-o", folder_ / "a.json"}, ".json is of one profile"},
      {{"export", folder_.path(), "-o", folder_ / "a.html"}, "a folder; .html is of one profile"},
      {{"export", folder_ / "gone", file_, "-o", folder_ / "a.parquet"}, "gone: cannot read it"},
      {{"export", file_, file_, "--since", file_, "-o", folder_ / "a.parquet"}, "--since: goes with one"},
      {{"export", file_, file_, "--at", "last", "-o", folder_ / "a.parquet"}, "--at: takes one series"},
      {{"export", file_, "--version-label", "v", "-o", folder_ / "a.json"}, "--version-label: .json"},
      {{"export", file_, "--metric", "live", "-o", folder_ / "a.parquet"}, "--metric: .parquet carries all"},
  };
  for (const auto& [arguments, expected] : cases) {
    const auto result = memprof(arguments);
    EXPECT_EQ(result.status, 2) << expected;
    EXPECT_THAT(result.err, HasSubstr(expected));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_EQ(folder_.list(), "p.pb.gz ");
}

TEST_F(ExportCommand, ATableOfOneOrMany) {
  const std::string one = exported("one.parquet");
  EXPECT_EQ(one.substr(0, 4) + one.substr(one.size() - 4), "PAR1PAR1");
  testing_tools::write_file(folder_ / "damaged.pb.gz", "x");
  const auto many = memprof({"export", folder_.path(), "-o", folder_ / "many.parquet"});
  EXPECT_EQ(many.status, 0);
  EXPECT_THAT(many.err, HasSubstr("left out: "));
  EXPECT_THAT(many.err, HasSubstr("damaged.pb.gz"));
  EXPECT_EQ(read_file(folder_ / "many.parquet"), one);  // of the one that is left
  EXPECT_EQ(memprof({"export", folder_.path(), "-o", "-", "--format", "parquet"}).out, one);
  const auto none = memprof({"export", file_, file_, "--focus", "zzz", "-o", folder_ / "none.parquet"});
  EXPECT_EQ(none.status, 0);
  EXPECT_THAT(none.err, HasSubstr("has no row"));
}

TEST_F(ExportCommand, AFullDiskIsNoDamagedProfile) {
  const auto result = memprof({"export", file_, folder_.path(), "-o", "/dev/full", "--format", "parquet"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("disk is full"));
  EXPECT_THAT(result.err, ::testing::Not(HasSubstr("left out")));
}

TEST_F(ExportCommand, AFullDiskIsAFailure) {
  const auto result = testing_tools::run(
      {"sh", "-c", std::string(MEMPROF_PROGRAM) + " export " + file_ + " -o - --format json >/dev/full"});
  EXPECT_EQ(result.status, 2);
  EXPECT_THAT(result.err, HasSubstr("no space left"));
}

TEST_F(ExportCommand, AFileOverTheLimitOfSizesIsAFailure) {
  const auto result = testing_tools::run(
      {"sh", "-c",
       "ulimit -f 0; exec '" MEMPROF_PROGRAM "' export " + file_ + " -o " + (folder_ / "a.json")});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(folder_.list(), "p.pb.gz ");
}

TEST_F(ExportCommand, AProfileWithoutSamplesIsWrittenAndSaid) {
  testing_tools::write_file(file_, profile::write_pprof(testing_tools::empty_profile(524288)));
  const auto result = memprof({"export", file_, "-o", folder_ / "a.speedscope.json"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr("has no sample"));
  EXPECT_TRUE(profile::json_from_text(read_file(folder_ / "a.speedscope.json")).is_object());
}

}  // namespace
}  // namespace memprof::cli
