// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/profile_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/model/error.h"
#include "profile/pprof/pprof_reader.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::StartsWith;
using testing_tools::Folder;

constexpr char kGzip[] = "\x1f\x8b";

TEST(ProfileOutput, OnlyPbIsNotCompressed) {
  const Folder folder;
  for (const char* name : {"x.pb.gz", "x", "x.pb.prof"}) {
    write_profile(testing_tools::small_profile(), folder / name, false);
    EXPECT_THAT(testing_tools::read_file(folder / name), StartsWith(kGzip)) << name;
  }
  write_profile(testing_tools::small_profile(), folder / "x.pb", false);
  EXPECT_THAT(testing_tools::read_file(folder / "x.pb"), ::testing::Not(StartsWith(kGzip)));
  EXPECT_EQ(profile::read_pprof_file(folder / "x.pb").samples, testing_tools::small_profile().samples);
}

TEST(ProfileOutput, WhatIsThereIsReplacedOnlyByForce) {
  const Folder folder;
  testing_tools::write_file(folder / "x.pb", "mine");
  EXPECT_THROW(write_profile(testing_tools::small_profile(), folder / "x.pb", false), profile::Error);
  EXPECT_EQ(testing_tools::read_file(folder / "x.pb"), "mine");
  write_profile(testing_tools::small_profile(), folder / "x.pb", true);
  EXPECT_NE(testing_tools::read_file(folder / "x.pb"), "mine");
}

}  // namespace
}  // namespace memprof::cli
