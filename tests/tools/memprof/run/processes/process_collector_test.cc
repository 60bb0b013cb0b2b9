// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/processes/process_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing_tools::Folder;

struct Folders {
  Folders() {
    std::filesystem::create_directory(folder / "arenas");
    std::filesystem::create_directory(folder / "profiles");
  }
  Folder folder;
};

TEST(ProcessCollector, TakesWhatProcessesWroteThemselves) {
  const Folders folders;
  profile::PprofWriteOptions options;
  options.gzip = false;
  const profile::Profile profile = testing_tools::small_profile();
  testing_tools::write_file(folders.folder / "profiles/7.pb", profile::write_pprof(profile, options));
  testing_tools::write_file(folders.folder / "profiles/8.pb.tmp.77", "half");
  testing_tools::write_file(folders.folder / "profiles/9.pb", "garbage");
  ProcessCollector collector("", folders.folder / "profiles", {});
  collector.start();
  const Collected collected = collector.finish();
  ASSERT_THAT(collected.processes, SizeIs(1));
  EXPECT_EQ(collected.processes[0].pid, profile.pid);
  EXPECT_EQ(collected.processes[0].samples, profile.samples);
  EXPECT_GT(collected.processes[0].allocated_bytes, 0);
  EXPECT_TRUE(collected.processes[0].has_ended);
  EXPECT_EQ(collected.unreadable, 1u);
}

TEST(ProcessCollector, WhatWasCollectedOverrulesWhatWasGuessed) {
  UnseenProcess guessed{12, 500, 1000, "rustc", "contains an allocator", true};
  ProcessProfile process;
  process.program = "rustc";
  process.pid = 12;
  process.process_start = 500;
  process.start_ns = 900;  // before the look
  process.samples = 3;
  EXPECT_TRUE(is_overruled(guessed, process));
  process.samples = 0;
  EXPECT_FALSE(is_overruled(guessed, process));
  process.start_ns = 1100;
  EXPECT_TRUE(is_overruled(guessed, process));

  process.start_ns = 900;
  process.samples = 3;
  process.program = "env";  // what it was before
  EXPECT_FALSE(is_overruled(guessed, process));
  process.program = "rustc";
  process.pid = 13;
  EXPECT_FALSE(is_overruled(guessed, process));
  process.pid = 12;
  guessed.has_library = false;  // it was seen without memprof: no guess
  EXPECT_FALSE(is_overruled(guessed, process));
}

TEST(ProcessCollector, AnArenaThatIsGarbageIsRemoved) {
  const Folders folders;
  testing_tools::write_file(folders.folder / "arenas/memprof-4000000000-1.arena", std::string(10000, 'x'));
  testing_tools::write_file(folders.folder / "arenas/memprof-4000000001-1.arena", "");
  testing_tools::write_file(folders.folder / "arenas/mine", "kept");
  ProcessCollector collector(folders.folder / "arenas", folders.folder / "profiles", {});
  collector.start();
  const Collected collected = collector.finish();
  EXPECT_THAT(collected.processes, IsEmpty());
  EXPECT_EQ(collected.foreign, 1u);  // it has not the run's token; the other had only begun
  EXPECT_EQ(collected.unreadable, 0u);
  EXPECT_FALSE(std::filesystem::exists(folders.folder / "arenas/memprof-4000000000-1.arena"));
  EXPECT_TRUE(std::filesystem::exists(folders.folder / "arenas/mine"));
  EXPECT_TRUE(std::filesystem::is_empty(folders.folder / "profiles"));
}

TEST(ProcessCollector, WhatCannotBeRemovedIsCountedOnce) {
  const Folders folders;
  std::filesystem::create_directory(folders.folder / "arenas/memprof-4000000000-1-2.arena");
  ProcessCollector collector(folders.folder / "arenas", folders.folder / "profiles", {});
  EXPECT_TRUE(collector.start());
  usleep(300000);  // some looks
  EXPECT_EQ(collector.finish().foreign, 1u);
}

TEST(ProcessCollector, WhatHasTheTokenAndCannotBeReadIsCounted) {
  const Folders folders;
  testing_tools::write_file(folders.folder / "arenas/memprof-4000000000-1-2.arena", std::string(10000, 'x'));
  ProcessCollector collector(folders.folder / "arenas", folders.folder / "profiles",
                             {0, 0x7878787878787878u, true});
  EXPECT_TRUE(collector.start());
  const Collected collected = collector.finish();
  EXPECT_EQ(collected.foreign, 0u);
  EXPECT_EQ(collected.unreadable, 1u);
  EXPECT_THAT(collected.unreadable_why, ::testing::HasSubstr("not the arena"));
}

}  // namespace
}  // namespace memprof::cli
