// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/http/metric_text.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

TEST(MetricText, HasHelpKindAndValue) {
  std::string text = "before\n";
  add_metric("ship_bytes_total", "counter", "Bytes that were sent.", 1e15, &text);
  EXPECT_EQ(text,
            "before\n"
            "# HELP memprof_ship_bytes_total Bytes that were sent.\n"
            "# TYPE memprof_ship_bytes_total counter\n"
            "memprof_ship_bytes_total 1000000000000000\n");
}

}  // namespace
}  // namespace memprof::cli
