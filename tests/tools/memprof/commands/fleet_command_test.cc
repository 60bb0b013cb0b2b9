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
  EXPECT_NE(fleet_failure({folder.path(), "--cycle", "1h"}).find("--cycle takes --over-time"),
            std::string::npos);
  for (const char* percent : {"0", "0.0001%", "60", "x", "", "%"}) {
    EXPECT_NE(fleet_failure({folder.path(), "--over-time", "--false-alarms", percent}).find("--false-alarms"),
              std::string::npos)
        << percent;
  }
  for (const char* cycle : {"1s", "400d", "x"}) {
    EXPECT_NE(fleet_failure({folder.path(), "--over-time", "--cycle", cycle}).find("--cycle"),
              std::string::npos)
        << cycle;
  }
  EXPECT_NE(fleet_failure({folder.path(), "--over-time"}).find("there is no profile of memprof ship"),
            std::string::npos);
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

TEST(FleetCommand, OverTimeNamesAShift) {
  const testing_tools::Folder folder;
  constexpr uint64_t kHourNs = 3'600'000'000'000;
  for (uint64_t look = 0; look < 80; ++look) {
    profile::Profile profile;
    profile.rate_bytes = 65536;
    profile.has_metric[3] = true;
    profile.time_unix_ns = 500'000 * kHourNs + look * kHourNs / 4;
    profile.comments = {R"(labels: {"host":"a","service_name":"shop"})"};
    profile.functions.push_back({"leaky", "leaky", "", 0});
    profile.locations.push_back({0, profile::kNoMapping, false, {{0, 1}}});
    profile::Stack stack;
    stack.locations = {0};
    stack.values[3] = (look < 40 ? 1e9 : 2e9) + 1e6 * static_cast<double>(look % 3);
    profile.stacks.push_back(stack);
    testing_tools::write_file(folder / std::to_string(look) + ".pb.gz", profile::write_pprof(profile));
  }
  testing::internal::CaptureStdout();
  EXPECT_EQ(fleet_command({folder.path(), "--over-time", "--cycle", "1h", "--false-alarms", "1%"}), 0);
  const std::string said = testing::internal::GetCapturedStdout();
  EXPECT_NE(said.find("shop: leaky: +99.9 %"), std::string::npos) << said;
  testing::internal::CaptureStdout();
  EXPECT_EQ(fleet_command({folder.path(), "--over-time"}), 0);
  EXPECT_EQ(testing::internal::GetCapturedStdout().find("Nothing can be said"), 0U) << "less than a day";
  testing::internal::CaptureStdout();
  EXPECT_EQ(fleet_command({folder.path(), "--over-time", "--cycle", "1h", "--json"}), 0);
  EXPECT_NE(testing::internal::GetCapturedStdout().find("\"kind\": \"shift\""), std::string::npos);
}

}  // namespace
}  // namespace memprof::cli
