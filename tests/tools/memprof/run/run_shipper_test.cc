// SPDX-License-Identifier: Apache-2.0
// Real programs and servers: tests/e2e/ship_run_test.py.
#include "memprof/run/run_shipper.h"

#include <gtest/gtest.h>

#include <vector>

#include "memprof/console/failure.h"
#include "profile/model/metric.h"
#include "profile/pprof/pprof_reader.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

class RunShipperTest : public testing::Test {
 protected:
  RunShipperTest() {
    std::filesystem::create_directory(folder / "out");
    std::filesystem::create_directory(folder / "arenas");
    choice.targets = {folder / "out"};
    choice.labels.fixed = {{"service_name", "shop"}, {"host", "a"}};
  }

  // What a process left that allocated 300 bytes, which live.
  ProcessProfile process(uint64_t pid, const std::string& arena) {
    ProcessProfile process;
    process.path = folder / (std::to_string(pid) + arena + ".pb");
    process.arena = arena;
    process.pid = pid;
    process.program = "server";
    testing_tools::write_file(process.path, profile::write_pprof(testing_tools::small_profile()));
    return process;
  }

  std::vector<profile::Profile> shipped() {
    std::vector<profile::Profile> looks;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder / "out")) {
      if (entry.is_regular_file()) looks.push_back(profile::read_pprof_file(entry.path()));
    }
    return looks;
  }

  static double total(const profile::Profile& profile, profile::Metric metric) {
    double sum = 0;
    for (const profile::Stack& stack : profile.stacks) sum += stack.values[metric_index(metric)];
    return sum;
  }

  std::string finished(RunShipper& shipper) {
    testing::internal::CaptureStderr();
    shipper.finish();
    return testing::internal::GetCapturedStderr();
  }

  testing_tools::Folder folder;
  ShipChoice choice;
};

TEST_F(RunShipperTest, WhatNoLookSawIsShippedAtTheEnd) {
  RunShipper shipper(choice, folder / "arenas", 7);
  shipper.start();
  ProcessProfile outlives = process(3, "c.arena");
  outlives.still_runs = true;
  shipper.take_last({process(1, "a.arena"), process(2, ""), outlives}, {process(1, "former.arena")}, 1);
  EXPECT_EQ(finished(shipper), "memprof: shipped 1 look (1.2 KiB allocated) to " +
                                   std::filesystem::canonical(folder / "out").string() + "\n");
  const auto looks = shipped();
  ASSERT_EQ(looks.size(), 1U) << "one set of labels";
  EXPECT_EQ(total(looks[0], profile::Metric::kAllocSpace), 1200);
  EXPECT_EQ(total(looks[0], profile::Metric::kInuseSpace), 600) << "of the started one, and of what goes on";
}

TEST_F(RunShipperTest, NothingIsShippedOfNothing) {
  RunShipper shipper(choice, "", 7);
  shipper.start();
  shipper.take_last({}, {}, 1);
  EXPECT_EQ(finished(shipper), "");
  EXPECT_TRUE(shipped().empty());
}

TEST_F(RunShipperTest, WhatCannotBeReadIsLostAlone) {
  RunShipper shipper(choice, folder / "arenas", 7);
  ProcessProfile damaged = process(2, "b.arena");
  testing_tools::write_file(damaged.path, "no profile");
  shipper.start();
  shipper.take_last({process(1, "a.arena"), damaged}, {}, 1);
  EXPECT_NE(finished(shipper).find("shipped 1 look (300 B allocated)"), std::string::npos);
}

TEST_F(RunShipperTest, ATargetThatIsNoneIsRefused) {
  choice.targets = {"nowhere"};
  choice.network.option = "--ship";
  try {
    const RunShipper shipper(choice, "", 7);
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_NE(std::string(failure.what()).find("--ship: 'nowhere' is no target"), std::string::npos);
  }
}

TEST_F(RunShipperTest, ItsFolderGoesWithIt) {
  setenv("TMPDIR", folder.path().c_str(), 1);
  {
    RunShipper shipper(choice, folder / "arenas", 7);
    shipper.start();
  }
  unsetenv("TMPDIR");
  size_t left = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
    left += entry.path().filename() != "out" && entry.path().filename() != "arenas" ? 1 : 0;
  }
  EXPECT_EQ(left, 0U);
}

}  // namespace
}  // namespace memprof::cli
