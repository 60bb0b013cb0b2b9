// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/run_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/pprof/pprof_reader.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing_tools::fixture;
using testing_tools::Folder;
using testing_tools::Result;

// Runs with a library that writes a known profile; temporary folders are made in a place of the test's own.
class RunCommand : public ::testing::Test {
 protected:
  RunCommand() {
    std::filesystem::create_directory(folder_ / "tmp");
    std::filesystem::create_directory(folder_ / "work");
    write_profile(testing_tools::small_profile());
    environment_ = {{"MEMPROF_LIBRARY", fixture("fake_library.so")},
                    {"FAKE_PROFILE", folder_ / "fake.pb"},
                    {"FAKE_LOG", folder_ / "log"},
                    {"TMPDIR", folder_ / "tmp"}};
  }

  void write_profile(const profile::Profile& profile) {
    profile::PprofWriteOptions options;
    options.gzip = false;
    testing_tools::write_file(folder_ / "fake.pb", profile::write_pprof(profile, options));
  }

  Result run(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "run");
    const Result result = testing_tools::memprof(arguments, environment_, folder_ / "work");
    EXPECT_TRUE(std::filesystem::is_empty(folder_ / "tmp")) << "a temporary folder was left behind";
    return result;
  }

  std::string work() const {
    std::string names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "work")) {
      names += entry.path().filename().string() + " ";
    }
    return names;
  }

  Folder folder_;
  testing_tools::Environment environment_;
};

TEST_F(RunCommand, WritesTheProfileAndTheNextCommand) {
  const Result result = run({"-o", "out.pb.gz", fixture("program"), "exit", "5"});
  EXPECT_EQ(result.status, 5);
  EXPECT_EQ(result.out, "");
  EXPECT_THAT(result.err, EndsWith("memprof: wrote out.pb.gz; next: memprof report out.pb.gz\n"));
  const profile::Profile profile = profile::read_pprof_file(folder_ / "work/out.pb.gz");
  EXPECT_EQ(profile.samples, 3u);
  EXPECT_EQ(testing_tools::read_file(folder_ / "work/out.pb.gz").substr(0, 2), "\x1f\x8b");
}

TEST_F(RunCommand, ShowsTheProfileInTheEnd) {
  environment_["DISPLAY"] = environment_["WAYLAND_DISPLAY"] = "";
  testing_tools::Process process(
      folder_, {MEMPROF_PROGRAM, "run", "-o", "out.pb.gz", "--view", fixture("program"), "exit", "5"},
      environment_, folder_ / "work");
  EXPECT_TRUE(process.wait_for("http://127.0.0.1:"));
  kill(process.pid(), SIGINT);
  const Result result = process.end();
  EXPECT_EQ(result.status, 5) << result.err;
  EXPECT_EQ(work(), "out.pb.gz ");
  EXPECT_THAT(run({"--view", "--raw", fixture("program")}).err, HasSubstr("exclude each other"));
}

TEST_F(RunCommand, TheNextCommandWorksAsItIsPrinted) {
  const Result result = run({"-o", "out of it's way.pb", fixture("program")});
  EXPECT_THAT(result.err, EndsWith("next: memprof report 'out of it'\\''s way.pb'\n"));
  EXPECT_THAT(testing_tools::read_file(folder_ / "work/out of it's way.pb"), HasSubstr("insert(int)"));
}

TEST_F(RunCommand, TheDefaultNameHasProgramAndPid) {
  run({fixture("program")});
  EXPECT_EQ(work(), "memprof.server.4711.pb.gz ");
}

TEST_F(RunCommand, TheLibraryIsToldWhatItNeeds) {
  environment_["LD_PRELOAD"] = "";
  run({"-r", "64k", "-o", "out.pb", fixture("program")});
  const std::string log = testing_tools::read_file(folder_ / "log");
  EXPECT_THAT(log, HasSubstr("MEMPROF_RATE=65536\n"));
  EXPECT_THAT(log, HasSubstr("LD_PRELOAD=" + fixture("fake_library.so") + "\n"));
}

TEST_F(RunCommand, StandsInFrontOfOtherLibraries) {
  // No such file: the loader says so and goes on.
  environment_["LD_PRELOAD"] = "libother.so";
  run({"-o", "out.pb", fixture("program")});
  EXPECT_THAT(testing_tools::read_file(folder_ / "log"),
              HasSubstr("LD_PRELOAD=" + fixture("fake_library.so") + ":libother.so\n"));
}

TEST_F(RunCommand, ALibraryInAFolderWithASpaceIsPreloadedAllTheSame) {
  std::filesystem::create_directory(folder_ / "a b");
  std::filesystem::copy_file(fixture("fake_library.so"), folder_ / "a b/lib.so");
  environment_["MEMPROF_LIBRARY"] = folder_ / "a b/lib.so";
  EXPECT_THAT(run({"-o", "out.pb", fixture("program")}).err, HasSubstr("wrote out.pb"));
}

TEST_F(RunCommand, ATemporaryFolderWithAPercentSign) {
  std::filesystem::create_directory(folder_ / "tmp/100%p");
  environment_["TMPDIR"] = folder_ / "tmp/100%p";
  const Result result =
      testing_tools::memprof({"run", "-o", "out.pb", fixture("program")}, environment_, folder_ / "work");
  EXPECT_THAT(result.err, HasSubstr("wrote out.pb"));
}

TEST_F(RunCommand, TheProcessIsProfiledThroughExecAndItsChildrenAreNot) {
  EXPECT_THAT(run({"-o", "out.pb", fixture("program"), "exec", fixture("program")}).err, HasSubstr("wrote"));
  const Result child = run({"-o", "child.pb", "sh", "-c", "'" + fixture("program") + "'; kill -9 $$"});
  EXPECT_THAT(child.err, HasSubstr("nothing was recorded"));
}

TEST_F(RunCommand, AnExistingFileIsKeptAndTheProgramDoesNotRun) {
  testing_tools::write_file(folder_ / "work/out.pb", "precious");
  const Result result = run({"-o", "out.pb", "touch", "ran"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "memprof: out.pb: file already exists; --force replaces it, -o names another\n");
  EXPECT_EQ(testing_tools::read_file(folder_ / "work/out.pb"), "precious");
  EXPECT_EQ(work(), "out.pb ");
  EXPECT_EQ(run({"--force", "-o", "out.pb", "true"}).status, 0);
  EXPECT_NE(testing_tools::read_file(folder_ / "work/out.pb"), "precious");
}

TEST_F(RunCommand, AProgramThatCannotRunIsOneLine) {
  EXPECT_EQ(run({"no-such-program"}).status, 127);
  EXPECT_EQ(run({"/etc/passwd"}).status, 126);
  EXPECT_EQ(run({"/etc/passwd"}).err, "memprof: /etc/passwd: cannot run it: permission denied\n");
  EXPECT_EQ(work(), "");
}

TEST_F(RunCommand, WhenNothingWasRecordedItSaysWhy) {
  const Result stat = run({fixture("static_program"), "exit", "4"});
  EXPECT_EQ(stat.status, 4);
  EXPECT_THAT(stat.err,
              HasSubstr("nothing was recorded: " + fixture("static_program") + " is statically linked"));
  const Result killed = run({fixture("program"), "kill", "9"});
  EXPECT_EQ(killed.status, 137);
  EXPECT_THAT(killed.err, HasSubstr("ended by signal 9 (Killed)"));
  const Result ended = run({fixture("program"), "exit_group", "6"});
  EXPECT_EQ(ended.status, 6);
  EXPECT_THAT(ended.err, HasSubstr("the library was not loaded into "));
  EXPECT_EQ(work(), "");
}

TEST_F(RunCommand, AnEmptyProfileIsWrittenWithTheRateToTry) {
  write_profile(testing_tools::empty_profile(524288));
  const Result result = run({"-o", "out.pb.gz", fixture("program")});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.err, HasSubstr(" took less than about 1.5 MiB from malloc"));
  EXPECT_THAT(result.err, HasSubstr("try -r 0"));
  EXPECT_EQ(profile::read_pprof_file(folder_ / "work/out.pb.gz").samples, 0u);
}

TEST_F(RunCommand, AProfileThatCannotBeWrittenAtTheEndIsKept) {
  const Result result = testing_tools::memprof(
      {"run", "-o", "sub/out.pb", "sh", "-c", "rmdir sub; exec '" + fixture("program") + "'"}, environment_,
      (std::filesystem::create_directory(folder_ / "work/sub"), folder_ / "work"));
  EXPECT_EQ(result.status, 2) << "the program's status is 0";
  EXPECT_THAT(result.err, HasSubstr("sub/out.pb: "));
  const size_t at = result.err.find("is kept: memprof report ");
  ASSERT_NE(at, std::string::npos) << result.err;
  std::string kept = result.err.substr(at + 24);
  kept.erase(kept.find('\n'));
  EXPECT_EQ(profile::read_pprof_file(kept).samples, 3u);
}

// A limit on file sizes raises SIGXFSZ, a reader that is gone SIGPIPE: neither may leave something half-done.
TEST_F(RunCommand, ASignalForAWriteThatFailsEndsNothing) {
  environment_["FAKE_LOG"] = "";
  const Result limited =
      testing_tools::run({"sh", "-c", "ulimit -f 0; exec '" MEMPROF_PROGRAM "' run -o out.pb true"},
                         environment_, folder_ / "work");
  EXPECT_EQ(limited.status, 2) << "128 + N: a signal ended it";
  EXPECT_EQ(work(), "");
  // memprof speaks when the reader of its standard error is gone.
  const Result unread = testing_tools::run(
      {"sh", "-c",
       "{ '" MEMPROF_PROGRAM "' run -o out.pb sleep 0.2; echo $? >&3; } 2>&1 >/dev/null 3>status | true"},
      environment_, folder_ / "work");
  EXPECT_EQ(unread.status, 0);
  EXPECT_EQ(testing_tools::read_file(folder_ / "work/status"), "0\n");
  EXPECT_TRUE(std::filesystem::exists(folder_ / "work/out.pb"));
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "tmp"));
}

TEST_F(RunCommand, HelpIsHelp) {
  EXPECT_EQ(run({"--help"}).status, 0);
  EXPECT_THAT(run({"--help"}).out, HasSubstr("usage: memprof run"));
}

}  // namespace
}  // namespace memprof::cli
