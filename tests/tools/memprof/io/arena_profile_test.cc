// SPDX-License-Identifier: Apache-2.0
// What arenas hold is tested where programs make them (tests/e2e/live_test.py).
#include "memprof/io/arena_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/model/error.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string error_of(const std::string& path) {
  try {
    read_arena(path);
  } catch (const profile::Error& error) {
    return error.what();
  }
  return "no error";
}

TEST(ArenaProfile, IsKnownByItsName) {
  EXPECT_TRUE(is_arena_path("/dev/shm/memprof-1-2.arena"));
  EXPECT_FALSE(is_arena_path("x.pb.gz"));
  EXPECT_FALSE(is_arena_path(".arena"));
}

TEST(ArenaProfile, ErrorsNameTheFile) {
  const testing_tools::Folder folder;
  EXPECT_EQ(error_of(folder / "none.arena"), (folder / "none.arena") + ": no such file or directory");
  testing_tools::write_file(folder / "garbage.arena", std::string(10000, 'x'));
  EXPECT_THAT(error_of(folder / "garbage.arena"),
              HasSubstr("garbage.arena: not the arena of a profiled process"));
  testing_tools::write_file(folder / "short.arena", "x");
  EXPECT_THAT(error_of(folder / "short.arena"), HasSubstr("not the arena"));
  testing_tools::write_file(folder / "begun.arena", std::string(10000, '\0'));
  testing_tools::write_file(folder / "empty.arena", "");  // made, and not given its size
  for (const char* name : {"begun.arena", "empty.arena"}) {
    EXPECT_THAT(error_of(folder / name),
                HasSubstr(name + std::string(": nothing was recorded: its process has only started")));
  }
  EXPECT_THAT(error_of(folder.path()), StartsWith(folder.path() + ": "));
}

}  // namespace
}  // namespace memprof::cli
