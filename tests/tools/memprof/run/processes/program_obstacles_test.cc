// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/processes/program_obstacles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using testing_tools::Folder;

constexpr char kStatic[] = MEMPROF_FIXTURES "/static_program";

TEST(ProgramObstacles, AFileIsInspectedOnce) {
  ProgramObstacles obstacles;
  for (int n = 0; n < 3; ++n) {
    const ProgramObstacles::Found found = obstacles.look_at(kStatic, "/");
    EXPECT_THAT(found.obstacle, HasSubstr("is statically linked"));
    EXPECT_THAT(found.obstacle, Not(HasSubstr(kStatic)));
    EXPECT_FALSE(found.has_memprof);
  }
  EXPECT_EQ(obstacles.inspected(), 1u);
}

TEST(ProgramObstacles, AnotherRootFolderHasOtherLibraries) {
  const Folder folder;
  ProgramObstacles obstacles;
  static_cast<void>(obstacles.look_at("/bin/cat", "/"));
  EXPECT_THAT(obstacles.look_at("/bin/cat", folder.path()).obstacle, IsEmpty());
  EXPECT_EQ(obstacles.inspected(), 2u);
}

TEST(ProgramObstacles, AnotherFileAtTheSamePathIsAnotherProgram) {
  const Folder folder;
  const std::string path = folder.path() + "/program";
  ProgramObstacles obstacles;
  std::filesystem::copy_file("/bin/cat", path);
  EXPECT_THAT(obstacles.look_at(path, "/").obstacle, IsEmpty());
  std::filesystem::copy_file(kStatic, path + ".new");
  std::filesystem::rename(path + ".new", path);
  EXPECT_THAT(obstacles.look_at(path, "/").obstacle, HasSubstr("is statically linked"));
  EXPECT_EQ(obstacles.inspected(), 2u);
}

TEST(ProgramObstacles, WhatIsNotThereIsNotRemembered) {
  const Folder folder;
  ProgramObstacles obstacles;
  const std::string path = folder.path() + "/program";
  static_cast<void>(obstacles.look_at(path, "/"));
  std::filesystem::copy_file(kStatic, path);
  EXPECT_THAT(obstacles.look_at(path, "/").obstacle, HasSubstr("is statically linked"));
}

}  // namespace
}  // namespace memprof::cli
