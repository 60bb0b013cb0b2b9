// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/names/own_names.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "memprof/console/failure.h"
#include "profile/symbolize/cache/name_cache.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

// Set, or taken out (nullptr), while it lives.
class NamesVariable {
 public:
  NamesVariable(const char* name, const char* value) : name_(name) {
    const char* const before = std::getenv(name);
    if (before != nullptr) before_ = before;
    set(value);
  }
  ~NamesVariable() { set(before_ ? before_->c_str() : nullptr); }
  NamesVariable(const NamesVariable&) = delete;
  NamesVariable& operator=(const NamesVariable&) = delete;

 private:
  void set(const char* value) const {
    if (value != nullptr) {
      setenv(name_, value, 1);
    } else {
      unsetenv(name_);
    }
  }
  const char* name_;
  std::optional<std::string> before_;
};

std::string path_of(const std::optional<profile::PrivateFolder>& folder) {
  return folder ? folder->path() : "none";
}

std::string refusal(const std::string& place) {
  try {
    names_folder_at("--name-cache", place);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(OwnNames, AFolderIsGivenByItsPath) {
  EXPECT_EQ(path_of(names_folder_at("--name-cache", "/a/b")), "/a/b");
  EXPECT_EQ(path_of(names_folder_at("--name-cache", "/a/b//")), "/a/b");
  EXPECT_EQ(path_of(names_folder_at("--name-cache", "/a")), "/a");
  EXPECT_EQ(path_of(names_folder_at("--name-cache", "off")), "none");
  for (const char* place : {"", "here", "/", "Off"}) {
    EXPECT_EQ(refusal(place),
              "--name-cache: '" + std::string(place) + "' is neither the absolute path of a folder nor off");
  }
}

TEST(OwnNames, TheUsualFolderIsWhereCachesAre) {
  const testing_tools::Folder home;
  const NamesVariable place("MEMPROF_NAME_CACHE", nullptr);
  const NamesVariable caches("MEMPROF_CACHE_DIR", nullptr);
  const NamesVariable of_user("XDG_CACHE_HOME", "/xdg");
  const NamesVariable at_home("HOME", home.path().c_str());
  const bool is_root = geteuid() == 0;
  EXPECT_EQ(path_of(usual_names_folder()), is_root ? "/var/cache/memprof/names" : "/xdg/memprof/names");
  const NamesVariable relative("XDG_CACHE_HOME", "here");
  EXPECT_EQ(path_of(usual_names_folder()),
            is_root ? "/var/cache/memprof/names" : home / ".cache/memprof/names");
  const NamesVariable given("MEMPROF_CACHE_DIR", "/caches");
  EXPECT_EQ(path_of(usual_names_folder()), "/caches/memprof/names");
  const NamesVariable first("MEMPROF_NAME_CACHE", "/names");
  EXPECT_EQ(path_of(usual_names_folder()), "/names");
  const NamesVariable off("MEMPROF_NAME_CACHE", "off");
  EXPECT_EQ(path_of(usual_names_folder()), "none");
}

TEST(OwnNames, AreKeptWhereTheyWereOpened) {
  const testing_tools::Folder folder;
  EXPECT_EQ(own_names(), nullptr);
  save_own_names();
  {
    const NamesVariable place("MEMPROF_NAME_CACHE", (folder / "names").c_str());
    open_own_names();
  }
  ASSERT_NE(own_names(), nullptr);
  EXPECT_EQ(own_names()->path(), folder / "names");
  save_own_names();  // nothing is new
  EXPECT_EQ(own_names()->problem(), "");
  const NamesVariable wrong("MEMPROF_NAME_CACHE", "here");
  use_own_names(std::nullopt);
  testing::internal::CaptureStderr();
  open_own_names();
  EXPECT_EQ(
      testing::internal::GetCapturedStderr(),
      "memprof: MEMPROF_NAME_CACHE: 'here' is neither the absolute path of a folder nor off; names are not kept\n");
  EXPECT_EQ(own_names(), nullptr);
}

}  // namespace
}  // namespace memprof::cli
