// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/export_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profile/pprof/pprof_reader.h"
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
  const auto speedscope = nlohmann::json::parse(exported("a.speedscope.json"));
  EXPECT_EQ(speedscope["$schema"], "https://www.speedscope.app/file-format-schema.json");
  EXPECT_TRUE(nlohmann::json::parse(exported("a.json")).is_object());
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
      {{"export", file_, "-o", folder_ / "a.svg"},
       "unknown ending; the name must end in .pb.gz, .pb, .html, .speedscope.json"},
      {{"export", file_, "-o", folder_ / "a.json", "--format", "svg"}, "'svg'"},
      {{"export", file_, "-o", folder_ / "gone/a.json"}, "gone"},
      {{"export", file_, "-o", folder_.path(), "--format", "json"}, folder_.path()},
      {{"export", file_, "-o", folder_ / "a.json", "--metric", "inuse_space"}, "only collapsed"},
      {{"export", file_, "-o", folder_ / "a.collapsed", "--metric", "rss"}, "'rss'"},
      {{"export", file_, "-o"}, "needs a value"},
  };
  for (const auto& [arguments, expected] : cases) {
    const auto result = memprof(arguments);
    EXPECT_EQ(result.status, 2) << expected;
    EXPECT_THAT(result.err, HasSubstr(expected));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
  EXPECT_EQ(folder_.list(), "p.pb.gz ");
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
  EXPECT_TRUE(nlohmann::json::parse(read_file(folder_ / "a.speedscope.json")).is_object());
}

}  // namespace
}  // namespace memprof::cli
