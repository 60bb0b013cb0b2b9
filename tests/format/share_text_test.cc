// SPDX-License-Identifier: Apache-2.0
#include "format/share_text.h"

#include <gtest/gtest.h>

namespace memprof::share_text_test {
namespace {

TEST(ShareText, IsReadInPartsInAMillion) {
  const struct {
    const char* text;
    uint32_t ppm;
  } rows[] = {{"0.5%", 5000},    {"2%", 20000}, {"2 %", 20000},  {"0.0001%", 1},
              {"100%", 1000000}, {"0%", 0},     {"0.50%", 5000}, {"12.3456%", 123456}};
  for (const auto& row : rows) {
    uint32_t ppm = 77;
    EXPECT_TRUE(parse_share(row.text, &ppm)) << row.text;
    EXPECT_EQ(row.ppm, ppm) << row.text;
  }
}

TEST(ShareText, WhatIsNoShareIsRefused) {
  for (const char* text : {"", "%", "0.5", "5", ".5%", "1.%", "-1%", "100.1%", "101%",
                           "99999999999999999999%", "1%%", "1  %", "1% ", "0.00001%", "1.2.3%", "x%"}) {
    uint32_t ppm = 77;
    EXPECT_FALSE(parse_share(text, &ppm)) << text;
    EXPECT_EQ(77u, ppm) << text;
  }
}

}  // namespace
}  // namespace memprof::share_text_test
