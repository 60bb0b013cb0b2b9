// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/profile_format.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

TEST(ProfileFormat, TheNameTellsTheFormat) {
  EXPECT_EQ(format_of_path("a.pb.gz"), ExportFormat::kPprofGzip);
  EXPECT_EQ(format_of_path("a.b.pb"), ExportFormat::kPprof);
  EXPECT_EQ(format_of_path("x/a.speedscope.json"), ExportFormat::kSpeedscope);
  EXPECT_EQ(format_of_path("a.collapsed"), ExportFormat::kCollapsed);
  EXPECT_EQ(format_of_path("a.json"), ExportFormat::kJson);
  EXPECT_EQ(format_of_path("a.pb/b"), std::nullopt);
  EXPECT_EQ(format_of_path("a.txt"), std::nullopt);
  EXPECT_EQ(format_from_name("speedscope"), ExportFormat::kSpeedscope);
  EXPECT_EQ(format_from_name("svg"), std::nullopt);
}

}  // namespace
}  // namespace memprof::cli
