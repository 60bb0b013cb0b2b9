// SPDX-License-Identifier: Apache-2.0
#include "profile/fleet/look_table.h"

#include <gtest/gtest.h>

#include <vector>

#include "profile/files/gzip.h"
#include "profile/fleet/fleet.h"
#include "profile/model/metric.h"
#include "tests/profile/fleet/shipped_look.h"
#include "tests/profile/parquet/parquet_read.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

using testing_parquet::read_parquet;
using testing_parquet::Row;
using testing_parquet::Table;

Table table_of(const std::vector<Profile>& profiles, const LookTableOptions& options = {}) {
  std::string file;
  LookTable table(options, sink_to(file));
  for (const Profile& profile : profiles) table.add(profile, "p.pb.gz");
  table.finish();
  Table result = read_parquet(file);
  EXPECT_EQ(result.rows.size(), table.rows());
  return result;
}

int64_t sum_of(const Table& table, const std::string& column) {
  int64_t sum = 0;
  for (const Row& row : table.rows) {
    if (const auto cell = row.find(column); cell != row.end()) sum += std::stoll(cell->second);
  }
  return sum;
}

TEST(LookTable, ARowForEachStack) {
  const Table table = table_of({named_profile()});
  ASSERT_EQ(table.rows.size(), 2u);
  const Row& row = table.rows[1];
  EXPECT_EQ(row.at("time"), "1700000000000000");
  EXPECT_EQ(row.at("duration_ns"), "1000000");
  EXPECT_EQ(row.at("profile"), "p.pb.gz");
  EXPECT_EQ(row.at("program"), "server");
  EXPECT_EQ(row.at("pid"), "42");
  EXPECT_EQ(row.at("rate_bytes"), std::to_string(kTestRate));
  EXPECT_EQ(row.at("function"), "inner");
  EXPECT_EQ(row.at("file"), "/src/make.h");
  EXPECT_EQ(row.at("line"), "7");
  EXPECT_EQ(row.at("module"), "server");
  EXPECT_EQ(row.at("stack"), "libc.so.6+0x1000;main;ns::make<int; char>(int);inner");
  EXPECT_EQ(row.at("inuse_bytes"), "4200616");
  for (const char* none :
       {"service", "host", "version", "process", "pod", "labels", "heap", "mapped_bytes"}) {
    EXPECT_EQ(row.count(none), 0u) << none;
  }
}

TEST(LookTable, SumsAreTheTotalsOfTheReport) {
  const Profile profile = named_profile();
  const Table table = table_of({profile});
  for (size_t i = 0; i < 6; ++i) {
    std::string name = metric_name(kMetrics[i]);
    if (metric_is_bytes(kMetrics[i])) name.replace(name.find("space"), 5, "bytes");
    EXPECT_EQ(sum_of(table, name), std::llround(estimated_total(profile, kMetrics[i]))) << name;
  }
}

TEST(LookTable, LabelsAreColumns) {
  Profile profile = shipped_profile({"shop", "a", "1.2", 1'700'000'000, {{"f", 100}, {"g", 50}}, 65536});
  profile.has_metric[metric_index(Metric::kInuseSpace)] = true;
  profile.comments = {
      std::string(kLabelsComment) +
      R"({"host":"a","service_name":"shop","service_version":"1.2","program":"python3","container_id":"c0",)"
      R"("k8s_pod_name":"shop-1","pid":"77","region":"eu","build":"7"})"};
  LookTableOptions options;
  Table table = table_of({profile}, options);
  ASSERT_EQ(table.rows.size(), 2u);
  const Row& row = table.rows[0];
  EXPECT_EQ(row.at("service"), "shop");
  EXPECT_EQ(row.at("host"), "a");
  EXPECT_EQ(row.at("version"), "1.2");
  EXPECT_EQ(row.at("program"), "python3");
  EXPECT_EQ(row.at("container"), "c0");
  EXPECT_EQ(row.at("pod"), "shop-1");
  EXPECT_EQ(row.at("pid"), "77");
  EXPECT_EQ(row.at("labels"),
            "build;container_id;host;k8s_pod_name;pid;program;region;service_name;service_version");
  EXPECT_EQ(row.at("labels.value"), "7;c0;a;shop-1;77;python3;eu;shop;1.2");
  EXPECT_EQ(row.count("alloc_bytes"), 0u);  // the profile does not have it
  EXPECT_EQ(row.at("inuse_bytes"), "100");
  options.version_label = "build";
  EXPECT_EQ(table_of({profile}, options).rows[0].at("version"), "7");
}

TEST(LookTable, StacksThatLookTheSameAreOneRow) {
  Profile profile = named_profile();
  profile.locations.push_back({0x402010, 0, false, {{0, 99}}});  // main at another line
  Stack stack;
  stack.locations = {3, 4};
  stack.values = {0, 0, 1, 100};
  profile.stacks.push_back(stack);
  EXPECT_EQ(table_of({profile}).rows.size(), 2u);
  LookTableOptions by_line;
  by_line.by = GroupBy::kLine;
  const Table lines = table_of({profile}, by_line);
  ASSERT_EQ(lines.rows.size(), 3u);
  EXPECT_EQ(lines.rows[0].at("stack"), "main:12;0x12345");
  EXPECT_EQ(lines.rows[1].at("stack"), "main:99;0x12345");
  EXPECT_EQ(sum_of(lines, "inuse_bytes"), sum_of(table_of({profile}), "inuse_bytes"));
}

TEST(LookTable, HeapsAndProcessesAreColumns) {
  Profile profile = named_profile();
  profile.stacks[0].heap = "arena";
  profile.stacks[0].process = "worker 7";
  const Table table = table_of({profile});
  EXPECT_EQ(table.rows[1].at("heap"), "arena");
  EXPECT_EQ(table.rows[1].at("process"), "worker 7");
  EXPECT_EQ(table.rows[1].at("stack").find('['), std::string::npos);
}

TEST(LookTable, NamesOfAnyBytes) {
  Profile profile = named_profile();
  profile.functions[2].name = "in\xFFner";
  EXPECT_EQ(table_of({profile}).rows[1].at("function"), "in\xEF\xBF\xBDner");
}

TEST(LookTable, NothingToTell) {
  EXPECT_TRUE(table_of({}).rows.empty());
  Profile profile = named_profile();
  profile.stacks.assign(1, Stack());
  EXPECT_TRUE(table_of({profile, Profile()}).rows.empty());
  // A stack without frames.
  profile.stacks[0].values[metric_index(Metric::kInuseSpace)] = -5;
  const Table table = table_of({profile});
  ASSERT_EQ(table.rows.size(), 1u);
  EXPECT_EQ(table.rows[0].at("function"), "(unknown)");
  EXPECT_EQ(table.rows[0].at("inuse_bytes"), "-5");
}

}  // namespace
}  // namespace memprof::profile
