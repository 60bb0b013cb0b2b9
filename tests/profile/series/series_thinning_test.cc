// SPDX-License-Identifier: Apache-2.0
#include "profile/series/series_thinning.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace memprof::profile {
namespace {

std::vector<ThinningLook> regular(size_t count) {
  std::vector<ThinningLook> looks;
  for (size_t i = 0; i < count; ++i) looks.push_back({1000 * (i + 1), 1, 10});
  return looks;
}

uint64_t bytes_of(const std::vector<ThinningLook>& looks, const std::vector<bool>& stays) {
  uint64_t bytes = 0;
  for (size_t i = 0; i < looks.size(); ++i) bytes += stays[i] ? looks[i].bytes : 0;
  return bytes;
}

TEST(SeriesThinning, AllStayWhereThereIsRoom) {
  const auto looks = regular(100);
  const auto stays = thin_looks(looks, 101000, 1000);
  EXPECT_EQ(bytes_of(looks, stays), 1000u);
  EXPECT_TRUE(thin_looks({}, 1, 0).empty());
}

TEST(SeriesThinning, TheOlderTheFurtherApart) {
  auto looks = regular(1000);
  looks[300].live_bytes = 2;
  const auto stays = thin_looks(looks, 1001000, 1000);
  EXPECT_LE(bytes_of(looks, stays), 1000u);
  EXPECT_GT(bytes_of(looks, stays), 900u);
  EXPECT_TRUE(stays.front());
  EXPECT_TRUE(stays.back());
  EXPECT_TRUE(stays[300]);  // the highest
  const auto kept_of = [&](size_t from, size_t to) {
    return std::count(stays.begin() + static_cast<long>(from), stays.begin() + static_cast<long>(to), true);
  };
  // The last 20 keep nearly all; each tenfold age about as many.
  EXPECT_GE(kept_of(985, 1000), 12);
  EXPECT_GT(kept_of(900, 1000), 2 * kept_of(0, 100));
  // Nowhere a gap larger than a quarter of its age, but at the begin.
  size_t last = 0;
  for (size_t i = 1; i < looks.size(); ++i) {
    if (!stays[i]) continue;
    EXPECT_LE(static_cast<double>(i - last), 1 + 0.25 * static_cast<double>(1001 - last)) << i;
    last = i;
  }
}

TEST(SeriesThinning, AgainAndAgainStaysBounded) {
  std::vector<ThinningLook> looks;
  for (size_t i = 0; i < 20000; ++i) {
    looks.push_back({1000 * (i + 1), static_cast<double>(i % 7), 10});
    if (looks.size() < 200) continue;
    const auto stays = thin_looks(looks, 1000 * (i + 2), 1500);
    std::vector<ThinningLook> kept;
    for (size_t j = 0; j < looks.size(); ++j) {
      if (stays[j]) kept.push_back(looks[j]);
    }
    looks = std::move(kept);
    ASSERT_LE(looks.size(), 150u);
  }
  EXPECT_EQ(looks.front().time_unix_ns, 1000u);
}

TEST(SeriesThinning, WhereNothingFitsTheOldestGo) {
  const auto looks = regular(3);
  EXPECT_EQ(thin_looks(looks, 4000, 10), (std::vector<bool>{false, false, true}));
  EXPECT_EQ(thin_looks(looks, 4000, 0), (std::vector<bool>{false, false, false}));
}

}  // namespace
}  // namespace memprof::profile
