// SPDX-License-Identifier: Apache-2.0
// On files that memprof ship wrote: tests/e2e/ship_test.py.
#include "memprof/commands/fleet_command.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "profile/pprof/pprof_writer.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

std::string fleet_failure(const std::vector<std::string>& arguments) {
  try {
    fleet_command(arguments);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status(), kBadInput);
    return failure.what();
  }
  return "";
}

TEST(FleetCommand, WrongUseIsNamed) {
  const testing_tools::Folder folder;
  EXPECT_NE(fleet_failure({}).find("no folder given"), std::string::npos);
  EXPECT_NE(fleet_failure({folder / "gone"}).find("gone: cannot read it"), std::string::npos);
  EXPECT_NE(fleet_failure({folder.path()}).find("there is no profile of memprof ship"), std::string::npos);
  EXPECT_NE(fleet_failure({folder.path(), "-n", "x"}).find("-n"), std::string::npos);
}

TEST(FleetCommand, WhatIsNotShippedIsLeftOut) {
  const testing_tools::Folder folder;
  std::filesystem::create_directory(folder / "shop");
  profile::Profile profile;
  profile.has_metric[3] = true;
  testing_tools::write_file(folder / "shop/other.pb.gz", profile::write_pprof(profile));
  testing_tools::write_file(folder / "shop/damaged.pb.gz", "x");
  profile.comments = {R"(labels: {"host":"a","service_name":"shop"})"};
  testing_tools::write_file(folder / "shop/a.pb.gz", profile::write_pprof(profile));
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  EXPECT_EQ(fleet_command({folder.path()}), 0);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(testing::internal::GetCapturedStdout().find("1 look of 1 host"), std::string::npos);
  EXPECT_NE(said.find("other.pb.gz: has no labels"), std::string::npos);
  EXPECT_NE(said.find("damaged.pb.gz"), std::string::npos);
}

}  // namespace
}  // namespace memprof::cli
