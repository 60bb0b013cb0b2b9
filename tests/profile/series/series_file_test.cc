// SPDX-License-Identifier: Apache-2.0
#include "profile/series/series_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>

#include "profile/model/error.h"
#include "profile/model/metric.h"
#include "tests/profile/series/series_fixture.h"

namespace memprof::profile {
namespace {

using series_fixture::content_of;
using series_fixture::Folder;
using series_fixture::kSecond;
using series_fixture::kStart;
using series_fixture::look_of;
using series_fixture::profile_at;

constexpr uint64_t kRoomy = uint64_t{1} << 30;

double live_of(const Profile& profile) {
  return estimated_total(profile, Metric::kInuseSpace);
}

void write_three(const std::string& path) {
  SeriesWriter writer(path, series_fixture::facts(), kRoomy, IfExists::kRefuse);
  for (uint64_t i = 0; i < 3; ++i) {
    const Profile profile = profile_at(kStart + i * 10 * kSecond, 100 * i);
    writer.add(look_of(profile, 1000 * (i + 1)), profile);
  }
}

TEST(SeriesFile, ComesBackAsItWas) {
  const Folder folder;
  const std::string path = folder / "x.series";
  write_three(path);
  EXPECT_TRUE(is_series(path));
  SeriesReader reader(path);
  const Series& series = reader.series();
  EXPECT_EQ(series.program, "server");
  EXPECT_EQ(series.cut_bytes, 0u);
  ASSERT_EQ(series.looks.size(), 3u);
  for (uint64_t i = 0; i < 3; ++i) {
    const SeriesLook& look = series.looks[i];
    EXPECT_EQ(look.system.at("rss_bytes"), 1000 * (i + 1));
    const Profile profile = reader.profile_of(look);
    EXPECT_EQ(profile.time_unix_ns, look.time_unix_ns);
    EXPECT_EQ(live_of(profile), look.totals.at(Metric::kInuseSpace).value);
    EXPECT_EQ(live_of(profile), static_cast<double>((100 * i + 100) * 1024));
  }
}

TEST(SeriesFile, EveryCutIsSeen) {
  const Folder folder;
  write_three(folder / "x.series");
  const std::string whole = content_of(folder / "x.series");
  const std::string path = folder / "cut.series";
  size_t max_looks = 0;
  for (size_t size = 0; size < whole.size(); size += size < 200 ? 1 : 37) {
    std::ofstream(path, std::ios::binary | std::ios::trunc) << whole.substr(0, size);
    try {
      SeriesReader reader(path);
      EXPECT_GE(reader.series().looks.size(), max_looks);
      EXPECT_LT(reader.series().looks.size(), 3u);
      max_looks = reader.series().looks.size();
      for (const SeriesLook& look : reader.series().looks) EXPECT_GT(live_of(reader.profile_of(look)), 0);
    } catch (const Error&) {
      EXPECT_LT(size, 200u);  // its first lines are cut
    }
  }
  EXPECT_EQ(max_looks, 2u);
}

TEST(SeriesFile, DamageEndsItOrIsSaid) {
  const Folder folder;
  write_three(folder / "x.series");
  const std::string whole = content_of(folder / "x.series");
  const std::string path = folder / "damaged.series";
  for (size_t at = 0; at < whole.size(); at += 11) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0xff);
    std::ofstream(path, std::ios::binary | std::ios::trunc) << damaged;
    try {
      SeriesReader reader(path);
      ASSERT_LE(reader.series().looks.size(), 3u);
      for (const SeriesLook& look : reader.series().looks) static_cast<void>(reader.profile_of(look));
    } catch (const Error&) {  // that is said
    }
  }
}

TEST(SeriesFile, StaysWithinItsLimit) {
  const Folder folder;
  const std::string path = folder / "x.series";
  // What does not compress, so that a look has some size.
  Profile profile = profile_at(kStart, 100);
  uint64_t random = 1;
  for (int i = 0; i < 200; ++i) {
    std::string comment;
    for (int j = 0; j < 200; ++j) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      comment += static_cast<char>('0' + (random >> 58));
    }
    profile.comments.push_back(comment);
  }
  SeriesWriter writer(path, series_fixture::facts(), SeriesWriter::kMinBytes, IfExists::kRefuse);
  for (uint64_t i = 0; i < 100; ++i) {
    profile.time_unix_ns = kStart + i * 10 * kSecond;
    writer.add(look_of(profile), profile);
    ASSERT_LE(std::filesystem::file_size(path), SeriesWriter::kMinBytes);
  }
  EXPECT_EQ(writer.looks() + writer.left_out(), 100u);
  EXPECT_GT(writer.left_out(), 0u);
  SeriesReader reader(path);
  ASSERT_EQ(reader.series().looks.size(), writer.looks());
  EXPECT_EQ(reader.series().looks.front().time_unix_ns, kStart);
  EXPECT_EQ(reader.series().looks.back().time_unix_ns, kStart + 990 * kSecond);
  for (const SeriesLook& look : reader.series().looks) {
    EXPECT_EQ(reader.profile_of(look).time_unix_ns, look.time_unix_ns);
  }
}

TEST(SeriesFile, AReaderKeepsWhatItOpened) {
  const Folder folder;
  const std::string path = folder / "x.series";
  write_three(path);
  SeriesReader reader(path);
  SeriesWriter writer(path, series_fixture::facts(), kRoomy, IfExists::kReplace);
  EXPECT_EQ(reader.profile_of(reader.series().looks[2]).time_unix_ns, kStart + 20 * kSecond);
  EXPECT_TRUE(SeriesReader(path).series().looks.empty());
}

TEST(SeriesFile, WhatIsNoSeriesIsRefused) {
  const Folder folder;
  EXPECT_FALSE(is_series(folder / "gone"));
  EXPECT_THROW(SeriesReader(folder / "gone"), Error);
  std::ofstream(folder / "text") << "memprof series 2\n{}";
  EXPECT_FALSE(is_series(folder / "text"));
  EXPECT_THROW(SeriesReader(folder / "text"), Error);
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  EXPECT_FALSE(is_series(folder / "pipe"));  // and does not wait for who writes into it
  EXPECT_THROW(SeriesReader(folder / "pipe"), Error);
  std::ofstream(folder / "mine") << "mine";
  EXPECT_THROW(SeriesWriter(folder / "mine", series_fixture::facts(), kRoomy, IfExists::kRefuse), Error);
}

}  // namespace
}  // namespace memprof::profile
