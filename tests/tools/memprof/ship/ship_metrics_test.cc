// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/ship_metrics.h"

#include <gtest/gtest.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(ShipMetrics, EachTargetHasItsLine) {
  LookCounts looks;
  looks.looks = 3;
  TargetFigures target;
  target.name = "http://a\"b\\";
  target.counts.accepted_bytes = 12345678901;
  target.waiting = 2;
  target.problem = "it is away";
  const std::string text = metrics_text(looks, {target}, 100);
  for (const char* line :
       {"memprof_ship_looks_total 3\n", "memprof_ship_spool_bytes 100\n",
        "# TYPE memprof_ship_target_waiting gauge\n",
        "memprof_ship_target_waiting{target=\"http://a\\\"b\\\\\"} 2\n",
        "memprof_ship_target_accepted_alloc_bytes_total{target=\"http://a\\\"b\\\\\"} 12345678901\n",
        "memprof_ship_target_up{target=\"http://a\\\"b\\\\\"} 0\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(ShipMetrics, HowLongProcessesWaitedForMemoryIsThereWhereItIsKnown) {
  LookCounts looks;
  EXPECT_EQ(metrics_text(looks, {}, 0).find("stall"), std::string::npos);
  looks.stall = MemoryStall{12.34, 5, false};
  EXPECT_NE(metrics_text(looks, {}, 0)
                .find("# TYPE memprof_ship_memory_stall_ratio gauge\n"
                      "memprof_ship_memory_stall_ratio{of=\"group\",kind=\"some\"} 0.1234\n"
                      "memprof_ship_memory_stall_ratio{of=\"group\",kind=\"full\"} 0.0500\n"),
            std::string::npos);
  looks.stall->is_of_machine = true;
  EXPECT_NE(metrics_text(looks, {}, 0).find("{of=\"machine\",kind=\"full\"} 0.0500\n"), std::string::npos);
}

TEST(ShipMetrics, TellsWhereNamesCameFrom) {
  const std::string text = name_metrics_text({1000, 30, 2, 12345678901});
  for (const char* line :
       {"# TYPE memprof_ship_names_cached_total counter\n", "memprof_ship_names_cached_total 1000\n",
        "memprof_ship_names_resolved_total 30\n", "memprof_ship_name_cache_failures_total 2\n",
        "# TYPE memprof_ship_name_cache_bytes gauge\n", "memprof_ship_name_cache_bytes 12345678901\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << text;
  }
}

TEST(ShipMetrics, AFileThatCannotBeWrittenEndsNothing) {
  const testing_tools::Folder folder;
  write_metrics(folder / "gone/a.prom", "a");
  write_metrics(folder / "a.prom", "a");
  write_metrics(folder / "a.prom", metrics_text({}, {}, 0));
  EXPECT_NE(testing_tools::read_file(folder / "a.prom").find("memprof_ship_looks_total 0\n"),
            std::string::npos);
}

}  // namespace
}  // namespace memprof::cli
