// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/carried_libraries.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <iterator>
#include <thread>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing_tools::Folder;
using testing_tools::read_file;
using testing_tools::write_file;

const std::string& carried_content(const char* name) {
  static const std::string glibc(200'000, 'g');
  static const std::string musl(100'000, 'm');
  return *name == 'g' ? glibc : musl;
}

const Carried& two_libraries() {
  static const CarriedFile kFiles[] = {
      {"libmemprof.so", reinterpret_cast<const unsigned char*>(carried_content("glibc").data()),
       carried_content("glibc").size(), CarriedFor::kGlibc},
      {"memprof/musl/libmemprof.so", reinterpret_cast<const unsigned char*>(carried_content("musl").data()),
       carried_content("musl").size(), CarriedFor::kMusl},
  };
  static const Carried kCarried{"0123abcd", kFiles, 2};
  return kCarried;
}

mode_t mode_of(const fs::path& path) {
  struct stat status{};
  return lstat(path.c_str(), &status) == 0 ? status.st_mode & 07777 : 0;
}

// Sets a variable for as long as it lives.
class CarriedVariable {
 public:
  CarriedVariable(const char* name, const char* value) : name_(name) {
    const char* const before = std::getenv(name);
    if (before != nullptr) before_ = before;
    was_set_ = before != nullptr;
    value != nullptr ? setenv(name, value, 1) : unsetenv(name);
  }
  ~CarriedVariable() { was_set_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }
  CarriedVariable(const CarriedVariable&) = delete;
  CarriedVariable& operator=(const CarriedVariable&) = delete;

 private:
  const char* name_;
  std::string before_;
  bool was_set_ = false;
};

TEST(CarriedLibraries, AreWrittenWholeForTheirUserOnlyToWrite) {
  const Folder folder;
  const mode_t umask_before = umask(0077);
  std::string reasons;
  const fs::path there = unpack(two_libraries(), {{folder.path(), "cache"}}, &reasons);
  umask(umask_before);
  EXPECT_EQ(there, folder / "cache/0123abcd");
  EXPECT_EQ(reasons, "");
  EXPECT_EQ(read_file(there / "libmemprof.so"), carried_content("glibc"));
  EXPECT_EQ(read_file(there / "memprof/musl/libmemprof.so"), carried_content("musl"));
  EXPECT_EQ(mode_of(there), 0755u);
  EXPECT_EQ(mode_of(there / "libmemprof.so"), 0755u);
  // Nothing of what was written first is left.
  EXPECT_EQ(std::distance(fs::directory_iterator(there), {}), 2);
}

TEST(CarriedLibraries, StayWhereTheyAre) {
  const Folder folder;
  std::string reasons;
  const fs::path there = unpack(two_libraries(), {{folder.path(), "cache"}}, &reasons);
  struct stat first{}, second{};
  ASSERT_EQ(stat((there / "libmemprof.so").c_str(), &first), 0);
  EXPECT_EQ(unpack(two_libraries(), {{folder.path(), "cache"}}, &reasons), there);
  ASSERT_EQ(stat((there / "libmemprof.so").c_str(), &second), 0);
  EXPECT_EQ(first.st_ino, second.st_ino);
}

TEST(CarriedLibraries, WhatIsNotTheSameIsReplacedAndNotWrittenOver) {
  const Folder folder;
  std::string reasons;
  const fs::path there = unpack(two_libraries(), {{folder.path(), "cache"}}, &reasons);
  for (const std::string& wrong :
       {std::string("cut"), std::string(200'000, 'x'), carried_content("glibc") + "more"}) {
    write_file(there / "libmemprof.so", wrong);
    std::ifstream mapped(there / "libmemprof.so", std::ios::binary);  // as a running program has it
    EXPECT_EQ(unpack(two_libraries(), {{folder.path(), "cache"}}, &reasons), there);
    EXPECT_EQ(read_file(there / "libmemprof.so"), carried_content("glibc"));
    EXPECT_EQ(std::string(std::istreambuf_iterator<char>(mapped), {}), wrong);
  }
  // A link to the right content is a link that somebody can change.
  write_file(folder / "elsewhere", carried_content("glibc"));
  fs::remove(there / "libmemprof.so");
  fs::create_symlink(folder / "elsewhere", there / "libmemprof.so");
  EXPECT_EQ(unpack(two_libraries(), {{folder.path(), "cache"}}, &reasons), there);
  EXPECT_FALSE(fs::is_symlink(there / "libmemprof.so"));
  // One that others may write to is made anew.
  chmod((there / "libmemprof.so").c_str(), 0666);
  EXPECT_EQ(unpack(two_libraries(), {{folder.path(), "cache"}}, &reasons), there);
  EXPECT_EQ(mode_of(there / "libmemprof.so"), 0755u);
}

TEST(CarriedLibraries, FoldersThatOthersCouldReplaceAreRefused) {
  const Folder folder;
  std::string reasons;
  fs::create_directories(folder / "open");
  chmod((folder / "open").c_str(), 0777);
  EXPECT_EQ(unpack(two_libraries(), {{folder / "open", "cache"}}, &reasons), "");
  EXPECT_THAT(reasons, HasSubstr("other users may replace"));
  // As /tmp is.
  chmod((folder / "open").c_str(), 01777);
  EXPECT_EQ(unpack(two_libraries(), {{folder / "open", "cache"}}, &reasons), folder / "open/cache/0123abcd");

  fs::create_directories(folder / "real");
  fs::create_symlink(folder / "real", folder / "linked");
  reasons.clear();
  EXPECT_EQ(unpack(two_libraries(), {{folder.path(), "linked"}}, &reasons), "");
  EXPECT_THAT(reasons, HasSubstr("linked in it: "));

  fs::create_directories(folder / "shared");
  chmod((folder / "shared").c_str(), 0775);
  reasons.clear();
  EXPECT_EQ(unpack(two_libraries(), {{folder.path(), "shared"}}, &reasons), "");
  EXPECT_THAT(reasons, HasSubstr("other users may write"));
}

TEST(CarriedLibraries, TheNextFolderIsTakenAndEachReasonIsSaid) {
  const Folder folder;
  write_file(folder / "file", "");
  std::string reasons;
  const fs::path there =
      unpack(two_libraries(),
             {{folder / "none", "cache"}, {folder / "file", "cache"}, {folder.path(), "cache"}}, &reasons);
  EXPECT_EQ(there, folder / "cache/0123abcd");
  EXPECT_THAT(reasons, HasSubstr("none: No such file or directory, "));
  EXPECT_THAT(reasons, HasSubstr("file: Not a directory"));
}

TEST(CarriedLibraries, ManyAtOnceFindThemWhole) {
  const Folder folder;
  std::vector<std::thread> threads;
  std::vector<std::string> found(8);
  for (std::string& one : found) {
    threads.emplace_back([&folder, &one] {
      std::string reasons;
      const fs::path there = unpack(two_libraries(), {{folder.path(), "cache"}}, &reasons);
      if (!there.empty() && read_file(there / "memprof/musl/libmemprof.so") == carried_content("musl"))
        one = there;
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::string& one : found) EXPECT_EQ(one, folder / "cache/0123abcd");
}

TEST(CarriedLibraries, ARelativeFolderIsRefused) {
  std::string reasons;
  EXPECT_EQ(unpack(two_libraries(), {{"here", "cache"}}, &reasons), "");
  EXPECT_EQ(reasons, "here: not an absolute path");
}

TEST(CarriedLibraries, TheVariableNamesTheOnlyFolder) {
  const CarriedVariable given("MEMPROF_CACHE_DIR", "/somewhere");
  const std::vector<CacheFolder> folders = cache_folders();
  ASSERT_EQ(folders.size(), 1u);
  EXPECT_EQ(folders[0].parent, "/somewhere");
}

TEST(CarriedLibraries, FoldersForAllHaveTheUsersNumber) {
  const Folder home;
  const CarriedVariable none("MEMPROF_CACHE_DIR", nullptr), cache("XDG_CACHE_HOME", nullptr),
      set("HOME", home.path().c_str());
  const CarriedVariable relative("TMPDIR", "here");
  const std::vector<CacheFolder> folders = cache_folders();
  const std::string own = "memprof-" + std::to_string(geteuid());
  EXPECT_EQ(folders[0].parent, geteuid() == 0 ? "/var/cache" : home / ".cache");
  EXPECT_EQ(folders[0].name, "memprof");
  for (size_t i = 1; i < folders.size(); ++i) {
    EXPECT_EQ(folders[i].parent[0], '/');
    EXPECT_EQ(folders[i].name, own);
  }
}

TEST(CarriedLibraries, ThisCommandCarriesNone) {
  EXPECT_EQ(carried_libraries().glibc, "");
  EXPECT_FALSE(is_carried(carried_by_this_command(), "/proc/self/exe"));
}

// Beside a command may be the library for musl, under the same name: the wheel for musl has it there.
TEST(CarriedLibraries, OnlyTheOneForGlibcIsTakenBesideTheCommand) {
  const Folder folder;
  write_file(folder / "glibc.so", carried_content("glibc"));
  write_file(folder / "musl.so", carried_content("musl"));
  EXPECT_TRUE(is_carried(two_libraries(), folder / "glibc.so"));
  EXPECT_FALSE(is_carried(two_libraries(), folder / "musl.so"));
  EXPECT_FALSE(is_carried(two_libraries(), folder / "gone.so"));
}

}  // namespace
}  // namespace memprof::cli
