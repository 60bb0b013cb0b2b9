// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/spool/spool.h"

#include <gtest/gtest.h>

#include <optional>
#include <set>

#include "memprof/console/failure.h"
#include "profile/model/error.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

constexpr uint64_t kRoom = 1 << 20;

Baseline baseline_of(const std::string& arena, int64_t bytes) {
  Baseline baseline;
  baseline.time_ms = bytes;
  baseline.processes[arena] = {{1, {1, bytes}}};
  return baseline;
}

Look look_with(int64_t bytes) {
  Look look;
  look.time_ms = 5;
  look.labels = {{"service_name", "a"}};
  look.allocated = {1, bytes};
  look.pprof = "profile";
  return look;
}

std::string failure_of(const std::string& folder) {
  try {
    const Spool spool(folder, kRoom);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(Spool, KeepsLooksOverARestart) {
  const testing_tools::Folder folder;
  std::string id;
  {
    Spool spool(folder / "s", kRoom);
    id = spool.id();
    EXPECT_EQ(spool.commit("l", baseline_of("a.arena", 100), look_with(100)).sequence, 1U);
    EXPECT_EQ(spool.commit("l", baseline_of("a.arena", 150), look_with(50)).sequence, 2U);
    EXPECT_EQ(spool.totals_of("a.arena").at(1).bytes, 150);
    EXPECT_EQ(spool.baseline_of("l").time_ms, 150);
    spool.remove(1);
  }
  Spool spool(folder / "s", kRoom);
  EXPECT_EQ(spool.id(), id);
  ASSERT_EQ(spool.waiting().size(), 1U);
  EXPECT_EQ(spool.waiting()[0].sequence, 2U);
  EXPECT_EQ(spool.waiting()[0].allocated_bytes, 50);
  EXPECT_GT(spool.bytes(), 0U);
  const Look look = spool.read(2);
  EXPECT_EQ(look.pprof, "profile");
  EXPECT_EQ(look.labels, (Labels{{"service_name", "a"}}));
  EXPECT_EQ(spool.totals_of("a.arena").at(1).bytes, 150);
  EXPECT_TRUE(spool.totals_of("b.arena").empty());
  spool.remove(2);
  EXPECT_EQ(spool.bytes(), 0U);
  EXPECT_EQ(spool.commit("l", baseline_of("a.arena", 160), look_with(10)).sequence, 3U);
}

// Each moment at which the shipper may be killed: the baseline is that of the looks that are there.
TEST(Spool, ALookIsThereOrWasNever) {
  const testing_tools::Folder folder;
  const std::string path = folder / "s";
  {
    Spool(path, kRoom).commit("l", baseline_of("a.arena", 100), look_with(100));
  }
  const std::string number = "000000000000000002";
  // Killed before the look had its name: the newer baseline was never true.
  testing_tools::write_file(path + "/baselines/l." + number, encode(baseline_of("a.arena", 150)));
  testing_tools::write_file(path + "/looks/" + number + ".tmp", "half");
  {
    const Spool spool(path, kRoom);
    EXPECT_EQ(spool.totals_of("a.arena").at(1).bytes, 100);
    EXPECT_EQ(spool.waiting().size(), 1U);
  }
  // Killed before the older baseline was removed: the look is there, and nobody has sent it.
  Look look = look_with(50);
  look.sequence = 3;
  testing_tools::write_file(path + "/baselines/l.000000000000000003", encode(baseline_of("a.arena", 150)));
  testing_tools::write_file(path + "/looks/000000000000000003", encode(look));
  const Spool spool(path, kRoom);
  EXPECT_EQ(spool.totals_of("a.arena").at(1).bytes, 150);
  EXPECT_EQ(spool.waiting().size(), 2U);
}

TEST(Spool, TheFirstLookOfLabelsToo) {
  const testing_tools::Folder folder;
  {
    const Spool spool(folder / "s", kRoom);
  }
  testing_tools::write_file(folder / "s/baselines/l.000000000000000000", encode(Baseline()));
  testing_tools::write_file(folder / "s/baselines/l.000000000000000001", encode(baseline_of("a.arena", 100)));
  const Spool spool(folder / "s", kRoom);
  EXPECT_TRUE(spool.totals_of("a.arena").empty());
}

TEST(Spool, AProcessKeepsItsBaselineWhenItsLabelsChange) {
  const testing_tools::Folder folder;
  {
    Spool spool(folder / "s", kRoom);
    spool.commit("old", baseline_of("a.arena", 100), look_with(100));
    spool.commit("new", baseline_of("a.arena", 120), look_with(20));
  }
  Spool spool(folder / "s", kRoom);
  EXPECT_EQ(spool.totals_of("a.arena").at(1).bytes, 120);
  EXPECT_EQ(spool.forget_but({"a.arena"}), 0U);
  EXPECT_EQ(spool.totals_of("a.arena").at(1).bytes, 120);
  EXPECT_EQ(spool.baseline_of("old").time_ms, 0);
  EXPECT_EQ(spool.forget_but({}), 1U);
  EXPECT_FALSE(spool.knows("a.arena"));
}

TEST(Spool, HasALimit) {
  const testing_tools::Folder folder;
  Spool spool(folder / "s", 1000);
  EXPECT_TRUE(spool.has_room(1000));
  spool.commit("l", baseline_of("a.arena", 1), look_with(1));
  EXPECT_FALSE(spool.has_room(1000));
}

TEST(Spool, WhatIsDamagedIsLeftOutOrNamed) {
  const testing_tools::Folder folder;
  {
    Spool(folder / "s", kRoom).commit("l", baseline_of("a.arena", 100), look_with(100));
  }
  testing_tools::write_file(folder / "s/looks/000000000000000001", "{\"version\":1}\n");
  {
    const Spool spool(folder / "s", kRoom);
    EXPECT_EQ(spool.damaged(), 1U);
    EXPECT_TRUE(spool.waiting().empty());
    EXPECT_EQ(spool.totals_of("a.arena").at(1).bytes, 100) << "it was committed";
  }
  testing_tools::write_file(folder / "s/baselines/l.000000000000000001", "x");
  EXPECT_NE(failure_of(folder / "s").find("is damaged, or of another version"), std::string::npos);
  EXPECT_THROW(decode_look("{\"version\":7}\n", "x"), profile::Error);
  EXPECT_THROW(decode_look("", "x"), profile::Error);
}

TEST(Spool, AnotherVersionAnotherShipperAndOtherFoldersAreRefused) {
  const testing_tools::Folder folder;
  {
    const Spool spool(folder / "s", kRoom);
    EXPECT_NE(failure_of(folder / "s").find("another memprof ship uses this spool"), std::string::npos);
  }
  {
    KeptPage state(folder / "s/spool.state");
    ASSERT_TRUE(state.write("{\"version\":2}"));
  }
  EXPECT_NE(failure_of(folder / "s").find("version 2 of spools, this one has 1"), std::string::npos);
  testing_tools::write_file(folder / "file", "");
  EXPECT_NE(failure_of(folder / "file").find("is no folder"), std::string::npos);
  EXPECT_NE(failure_of(folder.path()).find("is no spool of memprof"), std::string::npos);
}

TEST(Spool, NoTwoLooksHaveOneTime) {
  LookClock clock;
  std::set<int64_t> times;
  constexpr int64_t kNow = 1'700'000'000'000;
  size_t looks = 0;
  // Set back ten times, each time to the same moment.
  for (int turn = 0; turn < 10; ++turn) {
    for (int64_t i = 0; i < 200; ++i, ++looks) times.insert(clock.next(kNow + i * 100));
  }
  for (int i = 0; i < 100; ++i, ++looks) times.insert(clock.next(kNow + 1'000'000));
  EXPECT_EQ(times.size(), looks);
}

}  // namespace
}  // namespace memprof::cli
