// SPDX-License-Identifier: Apache-2.0
#include "format/size_text.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace memprof {
namespace {

TEST(SizeText, SizesAsPeopleWriteThem) {
  const std::pair<std::string_view, uint64_t> kSizes[] = {
      {"0", 0},
      {"0B", 0},
      {"4096", 4096},
      {"7b", 7},
      {"64k", 64 << 10},
      {"64K", 64 << 10},
      {"64kb", 64 << 10},
      {"64 KiB", 64 << 10},
      {"0.5M", 512 << 10},
      {"1.0", 1},
      {"0.125k", 128},
      {"2.50G", uint64_t{2560} << 20},
      {"1024T", uint64_t{1} << 50},
      {"3P", uint64_t{3} << 50},
      {"18446744073709551615", UINT64_MAX},
  };
  for (const auto& [text, bytes] : kSizes) {
    uint64_t found = 1;
    EXPECT_TRUE(parse_size(text, &found)) << text;
    EXPECT_EQ(bytes, found) << text;
  }
}

TEST(SizeText, OthersAreRefused) {
  for (const std::string_view text : {"",
                                      " ",
                                      "k",
                                      "-1",
                                      "+1",
                                      ".5k",
                                      "1.",
                                      "1.k",
                                      "0.3k",
                                      "0.0001k",
                                      "1..5k",
                                      "64 ",
                                      "64  k",
                                      "64kk",
                                      "64kib2",
                                      "64ki b",
                                      "64x",
                                      "64ib",
                                      "1e3",
                                      "0x10",
                                      "18446744073709551616",
                                      "16384P",
                                      "99999999999999999999999",
                                      "0.00000000000000001k"}) {
    uint64_t bytes = 0;
    EXPECT_FALSE(parse_size(text, &bytes)) << text;
  }
  uint64_t bytes = 0;
  EXPECT_FALSE(parse_size(std::string_view("64\0k", 4), &bytes));
  EXPECT_TRUE(parse_size(std::string_view("64k5").substr(0, 3), &bytes));
  EXPECT_EQ(65536u, bytes);
}

}  // namespace
}  // namespace memprof
