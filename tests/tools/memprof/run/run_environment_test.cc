// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/run_environment.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "format/files/arena_name.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

// "(none)": it is not set.
std::string value_of(const ChildProcess::Environment& environment, const std::string& name) {
  const auto found = std::find_if(environment.begin(), environment.end(),
                                  [&](const auto& variable) { return variable.first == name; });
  return found == environment.end() ? "(none)" : found->second;
}

TEST(RunEnvironment, SaysWhatTheLibraryIsToDo) {
  RunOptions options;
  TargetProgram target;
  target.can_preload = true;
  const auto environment = [&] {
    return environment_for(options, target, {"/lib/libmemprof.so", ""}, "/dev/shm/run", "/tmp/100%", 7);
  };
  EXPECT_EQ(value_of(environment(), "LD_PRELOAD").substr(0, 18), "/lib/libmemprof.so");
  EXPECT_EQ(value_of(environment(), "MEMPROF_RATE"), "") << "as if it were not there outside";
  EXPECT_EQ(value_of(environment(), "MEMPROF_RUN_TOKEN"), "7");
  EXPECT_EQ(value_of(environment(), kArenaFolderVariable), "/dev/shm/run");
  EXPECT_EQ(value_of(environment(), "MEMPROF_PROFILE"), "/tmp/100%%/%p.pb");
  EXPECT_EQ(value_of(environment(), "MEMPROF_FOLLOW_FORK"), "1");
  EXPECT_EQ(value_of(environment(), "MEMPROF_MMAP"), "(none)");
  EXPECT_EQ(value_of(environment(), "MEMPROF_MUSL_LIBRARY"), "(none)");
  options.rate_bytes = 4096;
  options.follow = false;
  options.mmap = true;
  target.can_preload = false;
  EXPECT_EQ(value_of(environment(), "MEMPROF_RATE"), "4096");
  EXPECT_EQ(value_of(environment(), "MEMPROF_FOLLOW_FORK"), "0");
  EXPECT_EQ(value_of(environment(), "MEMPROF_MMAP"), "1");
  EXPECT_EQ(value_of(environment(), "LD_PRELOAD"), "(none)");
}

TEST(RunEnvironment, ALibraryIsPreloadedFromAPathThatTheVariableCanHold) {
  const testing_tools::Folder folder;
  const std::string real = folder / "a b.so";
  testing_tools::write_file(real, "");
  const char* const before = std::getenv("MEMPROF_LIBRARY");
  const std::string kept = before != nullptr ? before : "";
  setenv("MEMPROF_LIBRARY", real.c_str(), 1);
  const TemporaryFolder links;
  const std::string library = find_libraries(links).glibc;
  if (before != nullptr) {
    setenv("MEMPROF_LIBRARY", kept.c_str(), 1);
  } else {
    unsetenv("MEMPROF_LIBRARY");
  }
  EXPECT_EQ(library, links.path() + "/libmemprof.so");
  EXPECT_EQ(std::filesystem::read_symlink(library), real);
}

}  // namespace
}  // namespace memprof::cli
