// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/pyroscope/query_time.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

namespace memprof::cli {
namespace {

constexpr int64_t kFiveAfterTwo = 1'777'644'300'000;  // 2026-05-01T14:05 UTC

TEST(QueryTime, IsBeforeNow) {
  EXPECT_EQ(query_time_ms("now", kFiveAfterTwo), kFiveAfterTwo);
  EXPECT_EQ(query_time_ms("now-1h", kFiveAfterTwo), kFiveAfterTwo - 3'600'000);
  EXPECT_EQ(query_time_ms("now-1h30m", kFiveAfterTwo), kFiveAfterTwo - 5'400'000);
  EXPECT_EQ(query_time_ms("now-2d", kFiveAfterTwo), kFiveAfterTwo - 172'800'000);
  EXPECT_EQ(query_time_ms("now-1w", kFiveAfterTwo), kFiveAfterTwo - 604'800'000);
  EXPECT_EQ(query_time_ms("now-45s", kFiveAfterTwo), kFiveAfterTwo - 45'000);
}

TEST(QueryTime, IsSince1970) {
  EXPECT_EQ(query_time_ms("1777644300", 0), kFiveAfterTwo);
  EXPECT_EQ(query_time_ms("1777644300000", 0), kFiveAfterTwo);
  EXPECT_EQ(query_time_ms("1777644300000000", 0), kFiveAfterTwo);
  EXPECT_EQ(query_time_ms("1777644300000000000", 0), kFiveAfterTwo);
}

TEST(QueryTime, IsADate) {
  EXPECT_EQ(query_time_ms("2026-05-01T14:05Z", 0), kFiveAfterTwo);
  EXPECT_EQ(query_time_ms("2026-05-01T14:05:30Z", 0), kFiveAfterTwo + 30'000);
  const auto local = query_time_ms("2026-05-01T14:05", 0);
  ASSERT_TRUE(local);
  const std::time_t seconds = *local / 1000;
  std::tm day{};
  localtime_r(&seconds, &day);
  EXPECT_EQ(day.tm_hour, 14);
  EXPECT_EQ(day.tm_min, 5);
}

TEST(QueryTime, AllElseIsNone) {
  for (const char* const text :
       {"", "now-", "now-1", "now-h", "now-1x", "now+1h", "now-99999999999s", "now-9999999999w", "yesterday",
        "12", "9999999999999999999", "2026-05-01", "2026-13-01T14:05", "2026-05-01T25:05",
        "2026-05-01T14:05+02:00", "T", "2026-05-01T14:05ZZ"}) {
    EXPECT_FALSE(query_time_ms(text, kFiveAfterTwo)) << text;
  }
}

}  // namespace
}  // namespace memprof::cli
