// SPDX-License-Identifier: Apache-2.0
// Real processes: tests/e2e/ship_test.py.
#include "memprof/ship/ship_run.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "memprof/ship/spool/kept_page.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

class ShipRun : public testing::Test {
 protected:
  ShipRun() {
    std::filesystem::create_directory(folder / "arenas");
    std::filesystem::create_directory(folder / "out");
    setenv("MEMPROF_ARENA_DIR", (folder / "arenas").c_str(), 1);
    options.targets = {folder / "out"};
    options.spool = folder / "spool";
    options.count = 1;
  }
  ~ShipRun() override { unsetenv("MEMPROF_ARENA_DIR"); }

  std::string failure() const {
    try {
      ship(options);
    } catch (const Failure& failure) {
      return failure.what();
    }
    return "";
  }

  testing_tools::Folder folder;
  ShipOptions options;
};

TEST_F(ShipRun, WithoutProcessesNothingIsShipped) {
  options.metrics_file = folder / "a.prom";
  EXPECT_EQ(ship(options), 0);
  EXPECT_TRUE(std::filesystem::is_empty(folder / "out"));
  EXPECT_NE(testing_tools::read_file(folder / "a.prom").find("memprof_ship_processes 0\n"),
            std::string::npos);
  EXPECT_NE(ship_plan(options).find("no process that has memprof in it"), std::string::npos);
}

TEST_F(ShipRun, TwoShippersOnOneHostAreRefused) {
  KeptPage lock(folder / ("arenas/memprof-ship-" + std::to_string(geteuid()) + ".lock"));
  ASSERT_TRUE(lock.lock());
  lock.write("process 1, spool x");
  EXPECT_NE(failure().find("another memprof ship (process 1, spool x)"), std::string::npos);
}

TEST_F(ShipRun, OneTargetTwiceIsRefused) {
  options.targets.emplace_back(folder / "out/");
  EXPECT_NE(failure().find("is given twice"), std::string::npos);
}

TEST(ShipRunPlaces, TheSpoolIsWhereStateIs) {
  EXPECT_EQ(usual_spool().front(), '/');
  EXPECT_FALSE(host_name().empty());
}

}  // namespace
}  // namespace memprof::cli
