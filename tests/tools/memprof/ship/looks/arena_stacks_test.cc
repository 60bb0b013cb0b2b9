// SPDX-License-Identifier: Apache-2.0
// What arenas hold is tested where programs make them (tests/e2e/ship_known_stacks_test.py).
#include "memprof/ship/looks/arena_stacks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/model/error.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(ArenaStacks, ErrorsNameTheFile) {
  const testing_tools::Folder folder;
  const std::string path = folder / "garbage.arena";
  EXPECT_THROW(ArenaStacks{path}, profile::Error);
  testing_tools::write_file(path, std::string(10000, 'x'));
  try {
    const ArenaStacks stacks(path);
    FAIL() << "it is no arena";
  } catch (const profile::Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("garbage.arena: not the arena of a profiled process"));
  }
}

}  // namespace
}  // namespace memprof::cli
