// SPDX-License-Identifier: Apache-2.0
// On real programs and processes: tests/e2e/doctor_test.py.
#include "memprof/commands/doctor_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

// The library in the build tree is another target's; any file will do for these.
testing_tools::Result doctor(std::vector<std::string> arguments,
                             testing_tools::Environment environment = {}) {
  arguments.insert(arguments.begin(), "doctor");
  environment.emplace("MEMPROF_LIBRARY", testing_tools::fixture("fake_library.so"));
  return testing_tools::memprof(arguments, environment);
}

TEST(DoctorCommand, TheStatusSaysWhetherAnythingStops) {
  const auto well = doctor({});
  EXPECT_EQ(well.status, 0) << well.out;
  EXPECT_THAT(well.out, HasSubstr("\nmemprof works here"));
  EXPECT_EQ(well.err, "");
  const auto stopped = doctor({"--", testing_tools::fixture("static_program"), "--help"});
  EXPECT_EQ(stopped.status, 1);
  EXPECT_THAT(stopped.out, HasSubstr("\n1 problem stops memprof"));
  EXPECT_EQ(doctor({"--", testing_tools::fixture("program")}).status, 0);
  EXPECT_EQ(doctor({}, {{"MEMPROF_LIBRARY", "/no/such/file"}}).status, 1);
  EXPECT_EQ(doctor({"2147483647"}).status, 1);
}

TEST(DoctorCommand, WrongUse) {
  for (const auto& [words, part] : std::vector<std::pair<std::vector<std::string>, std::string>>{
           {{"python3"}, "'python3' is not a process id; for a program: memprof doctor -- python3"},
           {{""}, "'' is not a process id"},
           {{"0"}, "'0' is not a process id"},
           {{"99999999999999999999"}, "is not a process id"},
           {{"--"}, "no program given"},
           {{"--json"}, "unknown option '--json'"},
           {{"1", "2"}, "unexpected argument '2'"}}) {
    const auto done = doctor(words);
    EXPECT_EQ(done.status, 2);
    EXPECT_EQ(done.out, "");
    EXPECT_THAT(done.err, HasSubstr(part));
    EXPECT_EQ(done.err.find('\n'), done.err.size() - 1);
  }
}

TEST(DoctorCommand, NothingIsColoredOrCutInAFile) {
  const auto done = doctor({"--", testing_tools::fixture("stripped")});
  EXPECT_EQ(done.out.find('\033'), std::string::npos);
  const auto narrow = doctor({"--", testing_tools::fixture("stripped")}, {{"COLUMNS", "60"}});
  EXPECT_GT(std::count(narrow.out.begin(), narrow.out.end(), '\n'),
            std::count(done.out.begin(), done.out.end(), '\n'));
}

TEST(DoctorCommand, TheProgramIsNotStarted) {
  const testing_tools::Folder folder;
  const auto done = doctor({"--", "touch", folder / "file"});
  EXPECT_EQ(done.status, 0) << done.out;
  EXPECT_EQ(folder.list(), "");
}

TEST(DoctorCommand, AFullOutputIsSaid) {
  const auto done = testing_tools::run({"sh", "-c", "exec '" MEMPROF_PROGRAM "' doctor >/dev/full"});
  EXPECT_EQ(done.status, kBadInput);
  EXPECT_THAT(done.err, EndsWith("no space left on device\n"));
}

}  // namespace
}  // namespace memprof::cli
