// SPDX-License-Identifier: Apache-2.0
#include "profile/fleet/fleet_report.h"
#include "profile/text/markup/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace memprof::profile {
namespace {

FleetResult result_with(size_t outliers) {
  FleetResult result;
  result.files = 3;
  result.hosts = 1;
  result.last_ns = 60'000'000'000;
  result.services = {{"shop", 2, 3, 2048, 1 << 20}};
  for (size_t i = 0; i < outliers; ++i) {
    result.outliers.push_back({"shop", "h" + std::to_string(i), "f", 3 << 20, 1 << 20, 0.01});
  }
  result.changes = {{"shop", "g", "1", "", 1000, 1100, 20, 0.02}, {"shop", "n", "1", "2", 0, 1100, 20, 0.02}};
  return result;
}

TEST(FleetReport, TextNamesWhatStandsOut) {
  const std::string text = fleet_text(result_with(3), 2);
  for (const char* line :
       {"3 looks of 1 host, over 60 s\n",
        "  shop: 2.0 KiB on 2 hosts, 1.0 KiB each; allocated 1.0 MiB in 3 looks\n",
        "  shop: h0 holds 3.0 MiB in f, the others 1.0 MiB on average\n", "  and 1 more (-n)\n",
        "  shop: g: +10.0 % from 1 to ?: 1000 B to 1.1 KiB a host, +80 B to +120 B\n",
        "  shop: n: new from 1 to 2"}) {
    EXPECT_NE(text.find(line), std::string::npos) << line << "\n" << text;
  }
  EXPECT_NE(fleet_text(FleetResult(), 2).find("No host holds more"), std::string::npos);
}

TEST(FleetReport, JSONHasAllOfIt) {
  const auto json = json_from_text(fleet_json(result_with(3)));
  EXPECT_EQ(json.at("looks"), 3);
  EXPECT_EQ(json.at("outliers").size(), 3U);
  EXPECT_EQ(json.at("changes").at(0).at("low"), 80);
  EXPECT_EQ(json.at("services").at(0).at("alloc_space"), 1 << 20);
}

}  // namespace
}  // namespace memprof::profile
