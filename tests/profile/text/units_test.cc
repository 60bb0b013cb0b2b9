// SPDX-License-Identifier: Apache-2.0
#include "profile/text/units.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(Units, FormatsBytes) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023.4), "1023 B");
  EXPECT_EQ(format_bytes(1023.6), "1.0 KiB");
  EXPECT_EQ(format_bytes(1536), "1.5 KiB");
  EXPECT_EQ(format_bytes(1024 * 1024 - 1), "1.0 MiB") << "not 1024.0 KiB";
  EXPECT_EQ(format_bytes(45.25 * 1024 * 1024), "45.2 MiB");
  EXPECT_EQ(format_bytes(3e12), "2.7 TiB");
  EXPECT_EQ(format_bytes(-2048), "-2.0 KiB");
}

TEST(Units, FormatsCounts) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999.6), "1,000");
  EXPECT_EQ(format_count(12345), "12,345");
  EXPECT_EQ(format_count(999999), "999,999");
  EXPECT_EQ(format_count(2345678), "2.3 M");
  EXPECT_EQ(format_count(7.25e9), "7.2 G");
  EXPECT_EQ(format_count(-123456), "-123,456");
}

TEST(Units, FormatsRatesExactly) {
  EXPECT_EQ(format_rate(0), "0 B");
  EXPECT_EQ(format_rate(524288), "512 KiB");
  EXPECT_EQ(format_rate(1000), "1000 B");
  EXPECT_EQ(format_rate(1536), "1536 B");
  EXPECT_EQ(format_rate(1 << 20), "1 MiB");
}

TEST(Units, ParsesSizes) {
  EXPECT_EQ(parse_bytes("0"), 0u);
  EXPECT_EQ(parse_bytes("1"), 1u);
  EXPECT_EQ(parse_bytes("524288"), 524288u);
  for (const char* text : {"512k", "512K", "512kb", "512KB", "512KiB", "512 KiB", "0.5M"}) {
    EXPECT_EQ(parse_bytes(text), 524288u) << text;
  }
  EXPECT_EQ(parse_bytes("64B"), 64u);
  EXPECT_EQ(parse_bytes("1M"), 1u << 20);
  EXPECT_EQ(parse_bytes("1G"), 1u << 30);
  EXPECT_EQ(parse_bytes("1P"), uint64_t{1} << 50);
}

TEST(Units, FormatsTimes) {
  EXPECT_EQ(format_duration_ns(1000), "1 us");
  EXPECT_EQ(format_duration_ns(1.25e6), "1.2 ms");
  EXPECT_EQ(format_duration_ns(10e6), "10 ms");
  EXPECT_EQ(format_duration_ns(999.99e6), "1 s");
  EXPECT_EQ(format_duration_ns(300e9), "300 s");
  EXPECT_EQ(format_duration_ns(3000e9), "50 min");
  EXPECT_EQ(format_duration_ns(10000e9), "2.8 h");
  EXPECT_EQ(format_duration_ns(1e7 * 1e9), "116 days");
}

TEST(Units, ParsesTimes) {
  EXPECT_EQ(parse_duration_ns("10ms"), 10'000'000u);
  EXPECT_EQ(parse_duration_ns("1.5 us"), 1500u);
  EXPECT_EQ(parse_duration_ns("2s"), 2'000'000'000u);
  EXPECT_EQ(parse_duration_ns("5m"), 300'000'000'000u);
  EXPECT_EQ(parse_duration_ns("5min"), 300'000'000'000u);
  EXPECT_EQ(parse_duration_ns("1h"), 3'600'000'000'000u);
  EXPECT_EQ(parse_duration_ns("7d"), 604'800'000'000'000u);
  for (const char* text : {"", "10", "ms", "-1ms", "0s", "1e3s", "10 parsecs", "999999d", "1ms2", "nan s"}) {
    EXPECT_FALSE(parse_duration_ns(text)) << text;
  }
}

TEST(Units, RefusesWhatIsNoSize) {
  for (const char* text : {"",
                           " ",
                           "k",
                           "-1",
                           "-1k",
                           "1x",
                           "1kk",
                           "1kx",
                           "0x10",
                           "1e3",
                           "512 k b",
                           "nan",
                           "inf",
                           "0.3",
                           "1.5",
                           "2P",
                           "99999999999999999999",
                           "12,3",
                           " 1",
                           "1 "}) {
    EXPECT_EQ(parse_bytes(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(Units, SignedBytesHaveTheirSign) {
  EXPECT_EQ(format_signed_bytes(1536), "+1.5 KiB");
  EXPECT_EQ(format_signed_bytes(-1536), "-1.5 KiB");
  EXPECT_EQ(format_signed_bytes(0), "0 B");
}

TEST(Units, BlanksAroundATextGo) {
  EXPECT_EQ(trimmed(" \tgrowth of x "), "growth of x");
  EXPECT_EQ(trimmed(" \t "), "");
  EXPECT_EQ(trimmed(""), "");
}

}  // namespace
}  // namespace memprof::profile
