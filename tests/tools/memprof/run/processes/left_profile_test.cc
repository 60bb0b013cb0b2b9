// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/processes/left_profile.h"

#include <gtest/gtest.h>

#include "profile/pprof/pprof_reader.h"
#include "tests/dump/raw_fixture.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using profile::Metric;
using testing_tools::Folder;

TEST(LeftProfile, WhatTheEngineWroteIsNoModel) {
  const Folder folder;
  const std::string left_path = folder / "left.pb";
  testing_tools::write_file(left_path, profile::write_raw(profile::RawFixture().profile));
  LeftProfile left(map_profile(left_path), left_path);
  EXPECT_FALSE(left.is_whole());
  EXPECT_TRUE(left.profile().stacks.empty());
  left.profile().told_apart = "worker 2";
  const std::string path = folder / "out.pb.gz";
  left.write(path, false);
  const profile::Profile written = profile::read_pprof_file(path);
  EXPECT_EQ(written.told_apart, "worker 2");
  EXPECT_EQ(written.stacks.size(), 3u);
  const double allocated = profile::estimated_total(written, Metric::kAllocSpace);
  EXPECT_NEAR(left.total(Metric::kAllocSpace), allocated, 2);
  EXPECT_THROW(left.write(path, false), profile::Error) << "it is there";
  EXPECT_NO_THROW(left.write(path, true));
}

// The file that it was read from may be replaced: by one with names of JIT code.
TEST(LeftProfile, CanReplaceItsFile) {
  const Folder folder;
  const std::string path = folder / "left.pb";
  testing_tools::write_file(path, profile::write_raw(profile::RawFixture().profile));
  LeftProfile left(map_profile(path), path);
  left.profile().functions.push_back({"made", "made", "", 0});
  left.profile().locations.back().lines.push_back(
      {static_cast<uint32_t>(left.profile().functions.size() - 1), 3});
  left.write(path, true);
  left.write(folder / "out.pb", false);
  EXPECT_EQ(profile::read_pprof_file(path).functions.back().name, "made");
  EXPECT_EQ(profile::read_pprof_file(path).stacks.size(), 3u);
  EXPECT_EQ(profile::read_pprof_file(folder / "out.pb").stacks.size(), 3u);
}

TEST(LeftProfile, OthersAreReadWhole) {
  const Folder folder;
  const std::string left_path = folder / "left.pb";
  profile::PprofWriteOptions options;
  options.gzip = false;
  const profile::Profile small = testing_tools::small_profile();
  testing_tools::write_file(left_path, profile::write_pprof(small, options));
  LeftProfile left(map_profile(left_path), left_path);
  EXPECT_TRUE(left.is_whole());
  EXPECT_EQ(left.profile().stacks.size(), 1u);
  EXPECT_EQ(left.total(Metric::kAllocSpace), 300);
  left.write(folder / "out.pb.gz", false);
  EXPECT_EQ(profile::read_pprof_file(folder / "out.pb.gz").stacks.size(), 1u);
  testing_tools::write_file(left_path, "garbage");
  EXPECT_THROW(LeftProfile(map_profile(left_path), left_path), profile::Error);
  EXPECT_THROW(map_profile(folder / "none.pb"), profile::Error);
}

}  // namespace
}  // namespace memprof::cli
