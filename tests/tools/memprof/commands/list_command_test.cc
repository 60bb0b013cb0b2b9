// SPDX-License-Identifier: Apache-2.0
// What real processes leave is in tests/e2e/live_test.py.
#include "memprof/commands/list_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include "memprof/host/process/arena_files.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_tools::Folder;

struct Place {
  Folder folder;
  testing_tools::Environment environment{{"MEMPROF_ARENA_DIR", folder.path()}};
  std::string add(const std::string& name) {
    testing_tools::write_file(folder / name, std::string(5000, 'x'));
    return folder / name;
  }
  testing_tools::Result memprof(const std::vector<std::string>& arguments) {
    return testing_tools::memprof(arguments, environment, folder.path());
  }
};

// The namespace of this process.
uint64_t own_space() {
  ArenaFile file;
  EXPECT_TRUE(parse_run_folder(run_folder_name(), &file));
  EXPECT_EQ(file.pid, static_cast<uint64_t>(getpid()));
  return file.pid_namespace;
}

TEST(ListCommand, ShowsWhatCannotBeRead) {
  Place place;
  const std::string path = place.add("memprof-2147483647-" + std::to_string(own_space()) + ".arena");
  const auto result = place.memprof({"list"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, ::testing::ContainsRegex("2147483647 +\\? +dead +unreadable .*" + path));
  EXPECT_THAT(result.out, HasSubstr("memprof clean removes its file"));
  EXPECT_THAT(result.out, HasSubstr("unreadable:\n  " + path + ": is not a memprof file\n"));
}

TEST(ListCommand, DeadOnesComeLastAndAreSummed) {
  Place place;
  const std::string dead = place.add("memprof-2147483647-" + std::to_string(own_space()) + ".arena");
  const std::string in_container = place.add("memprof-7-12345.arena");
  const std::string out = place.memprof({"list"}).out;
  ASSERT_NE(out.find(dead), std::string::npos);
  EXPECT_LT(out.find(in_container), out.find(dead));
  EXPECT_THAT(out, ::testing::ContainsRegex("\n1 running: .*iB; 1 dead: .*iB\n"));
}

TEST(ListCommand, SaysWhySomethingCannotBeRead) {
  Place place;
  const std::string path = place.folder / ("memprof-2147483647-" + std::to_string(own_space()) + ".arena");
  const auto said = [&](const std::string& content) {
    testing_tools::write_file(path, content);
    return place.memprof({"list"}).out;
  };
  EXPECT_THAT(said(""), HasSubstr(path + ": its process has only started, or was killed while starting"));
  EXPECT_THAT(said(std::string(8192, '\0')), HasSubstr(path + ": its process has only started"));
  EXPECT_THAT(said("MROFARNA" + std::string(92, '\1')), HasSubstr(path + ": is cut off after 100 bytes"));
  const std::string other = "MROFARNA" + std::string("\x4d\0\0\0", 4) + std::string(8192, '\1');
  EXPECT_THAT(said(other), HasSubstr("(version 77 of the data)"));
}

TEST(CleanCommand, RemovesWhatIsLeftOfTheDead) {
  Place place;
  const std::string space = std::to_string(own_space());
  const std::string dead = place.add("memprof-2147483647-" + space + ".arena");
  const std::string in_container = place.add("memprof-7-12345.arena");
  const std::string other = place.add("other.arena");
  const std::string folder = place.folder / ("memprof-run-2147483646-" + space + "-abcdef");
  std::filesystem::create_directory(folder);
  testing_tools::write_file(folder + "/memprof-2147483645-" + space + ".arena", "x");
  auto result = place.memprof({"clean"});
  EXPECT_EQ(result.status, 0);
  EXPECT_THAT(result.out, HasSubstr("removed 2 files of dead processes"));
  EXPECT_THAT(result.out, HasSubstr("left 1 of processes that may live in a container; --all"));
  EXPECT_FALSE(std::filesystem::exists(dead));
  EXPECT_FALSE(std::filesystem::exists(folder));
  EXPECT_TRUE(std::filesystem::exists(in_container));
  result = place.memprof({"clean", "--all"});
  EXPECT_THAT(result.out, HasSubstr("removed 1 file of dead processes"));
  EXPECT_FALSE(std::filesystem::exists(in_container));
  EXPECT_TRUE(std::filesystem::exists(other));
}

// A pipe that nobody writes to would be waited for.
TEST(ListCommand, WhatIsNoFileIsPassedOver) {
  Place place;
  const std::string name = "memprof-2147483647-" + std::to_string(own_space()) + ".arena";
  ASSERT_EQ(mkfifo((place.folder / name).c_str(), 0600), 0);
  const std::string target = place.folder / "other";
  testing_tools::write_file(target, "kept");
  std::filesystem::create_symlink(target, place.folder / "memprof-7-12345.arena");
  EXPECT_THAT(place.memprof({"list"}).out, HasSubstr("no process has memprof in it"));
  EXPECT_THAT(place.memprof({"clean", "--all"}).out, HasSubstr("removed 0 files"));
  EXPECT_EQ(testing_tools::read_file(target), "kept");
}

TEST(CleanCommand, ALinkToAFolderIsNotTheFolderOfARun) {
  Place place;
  const std::string space = std::to_string(own_space());
  std::filesystem::create_directory(place.folder / "elsewhere");
  const std::string file = place.folder / ("elsewhere/memprof-2147483645-" + space + ".arena");
  testing_tools::write_file(file, "kept");
  std::filesystem::create_symlink("elsewhere",
                                  place.folder / ("memprof-run-2147483646-" + space + "-abcdef"));
  EXPECT_THAT(place.memprof({"list"}).out, HasSubstr("no process has memprof in it"));
  EXPECT_THAT(place.memprof({"clean", "--all"}).out, HasSubstr("removed 0 files"));
  EXPECT_EQ(testing_tools::read_file(file), "kept");
}

TEST(CleanCommand, WrongArgumentsAreSaid) {
  Place place;
  EXPECT_EQ(place.memprof({"clean", "--wrong"}).status, 2);
  EXPECT_EQ(place.memprof({"list", "x"}).status, 2);
}

}  // namespace
}  // namespace memprof::cli
