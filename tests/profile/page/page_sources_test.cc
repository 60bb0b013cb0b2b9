// SPDX-License-Identifier: Apache-2.0
#include "profile/page/page_sources.h"

#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <fstream>

namespace memprof::profile {
namespace {

class PageSourcesTest : public ::testing::Test {
 protected:
  PageSourcesTest() { std::filesystem::create_directories(folder_); }
  ~PageSourcesTest() override { std::filesystem::remove_all(folder_); }

  std::string file(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_ / name;
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  // A profile whose functions are at these places.
  static Profile at(const std::vector<std::pair<std::string, int64_t>>& places) {
    Profile profile;
    for (const auto& [path, line] : places) {
      Function function;
      function.filename = path;
      Location location;
      location.lines = {{static_cast<uint32_t>(profile.functions.size()), line}};
      profile.functions.push_back(function);
      profile.locations.push_back(location);
    }
    return profile;
  }

  nlohmann::ordered_json source(const std::string& path, uint64_t time_unix_ns = 0) const {
    return read_source(path, rule_, time_unix_ns);
  }

  static uint64_t now_ns() {
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    return static_cast<uint64_t>(std::chrono::nanoseconds(now).count());
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) /
      (std::string("page_sources.") + ::testing::UnitTest::GetInstance()->current_test_info()->name());
  // Which files a rule allows: tests/profile/files/source_file_test.cc.
  const SourceRule rule_{false, {std::filesystem::canonical(::testing::TempDir()).string()}};
};

constexpr uint64_t kHour_ns = 3'600'000'000'000;

TEST_F(PageSourcesTest, OfAFileAllLines) {
  const auto text = source(file("x.c", "int x;\r\n\n  x = 1;"));
  EXPECT_EQ(text["lines"].dump(), R"({"1":"int x;","2":"","3":"  x = 1;"})");
  EXPECT_EQ(text["is_newer"], false);
}

TEST_F(PageSourcesTest, WhetherItWasChangedAfterTheProfile) {
  const std::string path = file("x.c", "x\n");
  EXPECT_EQ(source(path, now_ns() - kHour_ns)["is_newer"], true);
  EXPECT_EQ(source(path, now_ns() + kHour_ns)["is_newer"], false);
}

TEST_F(PageSourcesTest, WhatIsNoTextIsNotAtHand) {
  EXPECT_TRUE(source((folder_ / "missing.c").string()).is_null());
  EXPECT_TRUE(source(folder_.string()).is_null());
  EXPECT_TRUE(source("/dev/zero").is_null());
  EXPECT_TRUE(source(file("binary.c", std::string("ELF\0x", 5))).is_null());
  EXPECT_TRUE(source(file("empty.c", "")).is_null());
  EXPECT_TRUE(source(file("huge.c", std::string(kMaxSourceBytes + 1, '\n'))).is_null());
}

TEST_F(PageSourcesTest, WhatTheRuleDoesNotAllowIsNotAtHand) {
  const std::string path = file("x.c", "int x;\n");
  const SourceRule nothing;
  EXPECT_FALSE(source(path).is_null());
  EXPECT_TRUE(read_source(path, nothing, 0).is_null());
  EXPECT_EQ(read_sources(at({{path, 1}}), rule_).size(), 1u);
  EXPECT_EQ(read_sources(at({{path, 1}}), nothing).size(), 0u);
}

TEST_F(PageSourcesTest, LongLinesAreCut) {
  const auto text = source(file("x.js", std::string(100'000, 'x')));
  EXPECT_EQ(text["lines"]["1"].get<std::string>(), std::string(400, 'x'));
}

TEST_F(PageSourcesTest, AProfileHasTheLinesThatItNamesAndThoseNextToThem) {
  std::string lines;
  for (int i = 1; i <= 20; ++i) lines += std::to_string(i) + "\n";
  const std::string path = file("x.c", lines);
  const auto sources =
      read_sources(at({{path, 1}, {path, 10}, {path, 0}, {path, 999}, {"x.c", 1}, {"", 1}}), rule_);
  ASSERT_EQ(sources.size(), 1u) << sources.dump();
  EXPECT_EQ(sources[path]["lines"].dump(),
            R"({"1":"1","2":"2","3":"3","8":"8","9":"9","10":"10","11":"11","12":"12"})");
}

TEST_F(PageSourcesTest, OfManyFilesAsManyAsThereIsRoomFor) {
  std::vector<std::pair<std::string, int64_t>> places;
  for (int i = 0; i < 5; ++i) places.emplace_back(file(std::to_string(i) + ".c", std::string(100, 'x')), 1);
  EXPECT_EQ(read_sources(at(places), rule_, 300).size(), 3u);
  EXPECT_EQ(read_sources(at(places), rule_).size(), 5u);
  EXPECT_EQ(read_sources(Profile(), rule_).dump(), "{}");
}

}  // namespace
}  // namespace memprof::profile
