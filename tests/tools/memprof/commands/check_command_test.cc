// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/check_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profile/text/markup/json_text.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_tools::fixture;
using testing_tools::read_file;
using testing_tools::Result;
using testing_tools::write_file;

// Each run, and old.pb.gz, is the small profile: 300 bytes in three blocks.
class CheckCommand : public ::testing::Test {
 protected:
  CheckCommand() {
    profile::PprofWriteOptions plain;
    plain.gzip = false;
    write_file(folder_ / "fake.pb", profile::write_pprof(testing_tools::small_profile(), plain));
    write_file(folder_ / "old.pb.gz", profile::write_pprof(testing_tools::small_profile()));
    environment_ = {{"MEMPROF_LIBRARY", fixture("fake_library.so")},
                    {"FAKE_PROFILE", folder_ / "fake.pb"},
                    {"GITHUB_ACTIONS", ""},
                    {"GITHUB_STEP_SUMMARY", ""},
                    {"GITHUB_WORKSPACE", folder_.path()}};
  }

  void limits(const std::string& text) { write_file(folder_ / "memprof.toml", text); }

  Result check(std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), "check");
    return testing_tools::memprof(arguments, environment_, folder_.path());
  }
  Result check_program(std::vector<std::string> arguments, const std::string& status = "0") {
    arguments.insert(arguments.end(), {"--", fixture("program"), "exit", status});
    return check(arguments);
  }

  testing_tools::Folder folder_;
  testing_tools::Environment environment_;
};

TEST_F(CheckCommand, TheStatusIsTheVerdict) {
  limits("live = 300\n");
  const Result pass = check_program({});
  EXPECT_EQ(pass.status, 0) << pass.err;
  EXPECT_THAT(pass.out, HasSubstr("pass  live at most 300  300 B\n"));
  EXPECT_THAT(pass.out, HasSubstr("1 limit holds\n"));
  limits("live = 299\n");
  const Result fail = check_program({});
  EXPECT_EQ(fail.status, 1);
  EXPECT_THAT(fail.out, HasSubstr("FAIL  live at most 299  300 B\n        300 B  insert(int)"));
  limits("live = 300\n");
  const Result failed = check_program({}, "9");
  EXPECT_EQ(failed.status, 1);
  EXPECT_THAT(failed.out, HasSubstr("FAIL  the program failed: exit status 9"));
  limits("[[site]]\nfocus = \"nobody\"\nlive = 300\n");
  EXPECT_EQ(check_program({}).status, 2);
}

TEST_F(CheckCommand, RunsTheChecksOfTheFile) {
  limits(
      "live = 1\n[[check]]\nname = \"one\"\ncommand = [\"" + fixture("program") +
      "\", \"exit\", \"0\"]\nlive = 300\n[[check]]\nname = \"two\"\nprofile = \"old.pb.gz\"\nalloc = 300\n");
  const Result all = check({});
  EXPECT_EQ(all.status, 0) << all.err;
  EXPECT_THAT(all.out, HasSubstr("one: "));
  EXPECT_THAT(all.out, HasSubstr("two: old.pb.gz"));
  EXPECT_THAT(all.err, HasSubstr("memprof.toml:1: not checked: the limits name no command"));
  EXPECT_THAT(check({"--only", "two"}).out, Not(HasSubstr("one: ")));
  EXPECT_THAT(check({"--only", "tow"}).err, HasSubstr("no check 'tow'; did you mean 'two'?"));
  EXPECT_EQ(check({"--only", "tow"}).status, 2);
}

TEST_F(CheckCommand, JudgesProfiles) {
  limits("live = 300\n");
  const Result two = check({"old.pb.gz", "fake.pb"});
  EXPECT_EQ(two.status, 0) << two.err;
  EXPECT_THAT(two.out, HasSubstr("2 limits hold"));
  EXPECT_EQ(check({"nonexistent.pb.gz"}).status, 2);
  limits("iterations = [10, 20]\ngrowth_per_iteration = 0\n");
  EXPECT_EQ(check({"old.pb.gz", "fake.pb"}).status, 0);
  EXPECT_THAT(check({"old.pb.gz"}).err, HasSubstr("give a profile of each"));
  EXPECT_THAT(check_program({}).err, HasSubstr("write {n} in CMD"));
}

TEST_F(CheckCommand, OtherFormats) {
  limits("live = 299\n");
  const auto json = profile::json_from_text(check({"old.pb.gz", "--json"}).out);
  EXPECT_EQ(json["status"], 1);
  EXPECT_EQ(json["checks"][0]["limits"][0]["sites"][0]["name"], "insert(int)");
  EXPECT_THAT(check({"old.pb.gz", "--markdown"}).out, HasSubstr("| **FAIL** | `live at most 299` |"));
  EXPECT_THAT(check({"old.pb.gz", "--junit", "-"}).out, HasSubstr("<failure message=\"300 B\">"));
  const Result files = check({"old.pb.gz", "--markdown", "-o", "x.md", "--junit", "x.xml"});
  EXPECT_EQ(files.out, "");
  EXPECT_THAT(read_file(folder_ / "x.md"), HasSubstr("FAIL"));
  EXPECT_THAT(read_file(folder_ / "x.xml"), HasSubstr("failures=\"1\""));
  EXPECT_THAT(check({"old.pb.gz", "-o", "x.md"}).err, HasSubstr("already exists"));
  EXPECT_EQ(check({"old.pb.gz", "-o", "x.md", "--force"}).status, 1);
}

TEST_F(CheckCommand, AnnotatesForGitHub) {
  limits("peak = 1\nlive = 299\n");
  const Result asked = check({"old.pb.gz", "--github"});
  EXPECT_THAT(asked.out,
              HasSubstr("::error file=memprof.toml,line=2,title=memprof check%3A memprof.toml::live at "));
  environment_["GITHUB_ACTIONS"] = "true";
  environment_["GITHUB_STEP_SUMMARY"] = folder_ / "summary.md";
  write_file(folder_ / "summary.md", "before\n");
  const Result json = check({"old.pb.gz", "--json"});
  EXPECT_EQ(profile::json_from_text(json.out)["failed"], 1);
  EXPECT_THAT(json.err, HasSubstr("::error file=memprof.toml,line=2"));
  EXPECT_THAT(read_file(folder_ / "summary.md"), HasSubstr("before\n### Memory: "));
  environment_["GITHUB_STEP_SUMMARY"] = folder_ / "none/summary.md";
  EXPECT_THAT(check({"old.pb.gz"}).err, HasSubstr("GITHUB_STEP_SUMMARY: cannot write"));
}

TEST_F(CheckCommand, KeepsProfiles) {
  limits("live = 300\n");
  const Result kept = check_program({"--keep", "kept"});
  EXPECT_EQ(kept.status, 0) << kept.err;
  EXPECT_THAT(kept.out, HasSubstr("memprof report kept/check.pb.gz\n"));
  EXPECT_TRUE(std::filesystem::exists(folder_ / "kept/check.pb.gz"));
  const Result again = check_program({"--keep", "kept"});
  EXPECT_EQ(again.status, 2);
  EXPECT_THAT(again.out, HasSubstr("already exists"));
  EXPECT_EQ(check_program({"--keep", "kept", "--force"}).status, 0);
}

TEST_F(CheckCommand, TheProgramsOutputIsNotTheReport) {
  limits("live = 300\n");
  const Result result = check({"--json", "--", "sh", "-c", "echo said"});
  EXPECT_THAT(result.err, HasSubstr("said\n"));
  EXPECT_TRUE(nlohmann::json::accept(result.out)) << result.out;
}

TEST_F(CheckCommand, WrongUse) {
  const auto error_of = [&](const std::vector<std::string>& arguments) {
    const Result result = check(arguments);
    EXPECT_EQ(result.status, 2) << result.out;
    return result.err;
  };
  EXPECT_THAT(error_of({}), HasSubstr("memprof.toml: cannot read it; write the limits there"));
  EXPECT_THAT(error_of({"--limits", "x.toml"}), HasSubstr("x.toml: cannot read it"));
  limits("peek = 1\n");
  EXPECT_THAT(error_of({}),
              HasSubstr("memprof.toml:1: 'peek' is no key at the top level; did you mean 'peak'?"));
  limits("peak = 1\n");
  EXPECT_THAT(error_of({}), HasSubstr("no check names a command"));
  EXPECT_THAT(error_of({"--"}), HasSubstr("no program given"));
  EXPECT_THAT(error_of({"old.pb.gz", "--", "true"}), HasSubstr("profiles or a program?"));
  EXPECT_THAT(error_of({"--json", "--markdown", "old.pb.gz"}), HasSubstr("One of them"));
  EXPECT_THAT(error_of({"--json", "--junit", "-", "old.pb.gz"}), HasSubstr("--junit -"));
  EXPECT_THAT(error_of({"-r", "often", "old.pb.gz"}), HasSubstr("'often' is not a rate"));
  EXPECT_THAT(error_of({"--junit", "", "old.pb.gz"}), HasSubstr("--junit: give a name"));
  EXPECT_THAT(error_of({"--keep", "memprof.toml/x", "old.pb.gz"}), HasSubstr("cannot make the folder"));
  limits("command = [\"true\"]\npeak = 1\n");
  EXPECT_THAT(error_of({"--", "true"}), HasSubstr("each check has a command or a profile of its own"));
  limits("[[test]]\nname = \"*\"\npeak = 1\n");
  EXPECT_THAT(error_of({}), HasSubstr("there is no check in it"));
  EXPECT_EQ(check({"--help"}).status, 0);
}

}  // namespace
}  // namespace memprof::cli
