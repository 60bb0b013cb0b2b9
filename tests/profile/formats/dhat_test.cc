// SPDX-License-Identifier: Apache-2.0
#include "profile/formats/dhat.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "profile/model/estimate.h"
#include "profile/text/markup/json_text.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

using DhatJson = nlohmann::json;

// What dh_view.js asks for, and what its sums must be.
DhatJson checked_dhat(const std::string& text) {
  DhatJson file = json_from_text(text);
  EXPECT_EQ(file.at("dhatFileVersion"), 2);
  EXPECT_EQ(file.at("bklt"), true);
  EXPECT_EQ(file.at("bkacc"), false);
  for (const char* field : {"mode", "verb", "tu", "Mtu", "cmd"})
    EXPECT_TRUE(file.at(field).is_string()) << field;
  for (const char* field : {"pid", "te", "tg", "tuth"})
    EXPECT_TRUE(file.at(field).is_number_unsigned()) << field;
  EXPECT_LE(file.at("tg"), file.at("te"));
  const DhatJson& frames = file.at("ftbl");
  EXPECT_EQ(frames.at(0), "[root]");
  std::set<std::vector<size_t>> stacks;
  for (const DhatJson& point : file.at("pps")) {
    for (const char* field : {"tb", "tbk", "tl", "mb", "mbk", "gb", "gbk", "eb", "ebk"}) {
      EXPECT_TRUE(point.at(field).is_number_unsigned()) << field;
    }
    EXPECT_GE(point.at("mb"), point.at("gb"));
    EXPECT_GE(point.at("mb"), point.at("eb"));
    const auto stack = point.at("fs").get<std::vector<size_t>>();
    EXPECT_TRUE(stacks.insert(stack).second);
    EXPECT_FALSE(stack.empty());
    for (const size_t frame : stack) {
      EXPECT_GT(frame, 0u);
      EXPECT_LT(frame, frames.size());
    }
  }
  return file;
}

double dhat_sum(const DhatJson& file, const char* field) {
  double total = 0;
  for (const DhatJson& point : file.at("pps")) total += point.at(field).get<double>();
  return total;
}

TEST(Dhat, HasTheSumsOfTheProfile) {
  const Profile profile = named_profile();
  const DhatJson file = checked_dhat(write_dhat(profile));
  EXPECT_NEAR(dhat_sum(file, "tb"), estimated_total(profile, Metric::kAllocSpace), 1);
  EXPECT_NEAR(dhat_sum(file, "tbk"), estimated_total(profile, Metric::kAllocObjects), 1);
  EXPECT_NEAR(dhat_sum(file, "gb"), estimated_total(profile, Metric::kPeakSpace), 1);
  EXPECT_NEAR(dhat_sum(file, "eb"), estimated_total(profile, Metric::kInuseSpace), 1);
  EXPECT_NEAR(dhat_sum(file, "ebk"), estimated_total(profile, Metric::kInuseObjects), 1);
  EXPECT_EQ(file.at("te"), 1000);
  EXPECT_EQ(file.at("tg"), 500);
  EXPECT_EQ(file.at("cmd"), "server");
}

TEST(Dhat, FramesAreTheInnermostFirstWithTheirPlaces) {
  const DhatJson file = checked_dhat(write_dhat(named_profile()));
  bool is_found = false;
  for (const DhatJson& point : file.at("pps")) {
    std::string text;
    for (const DhatJson& frame : point.at("fs")) {
      const std::string name = file.at("ftbl").at(frame.get<size_t>());
      text += name.substr(name.find(": ") + 2) + "\n";
    }
    is_found = is_found || text ==
                               "inner (/src/make.h:7)\nns::make<int; char>(int) (/src/make.h:30)\nmain "
                               "(/src/main.cc:12)\nlibc.so.6+0x1000 (in libc.so.6)\n";
  }
  EXPECT_TRUE(is_found) << file.at("ftbl");
}

TEST(Dhat, LifetimesAreThoseOfWhatWasFreed) {
  const Profile profile = named_profile();
  const DhatJson file = checked_dhat(write_dhat(profile));
  for (const DhatJson& point : file.at("pps")) {
    const double mean = point.at("tl").get<double>() / point.at("tbk").get<double>();
    const bool is_first = point.at("fs").size() == 4;
    EXPECT_NEAR(mean, is_first ? 5e6 / profile.stacks[0].freed.weight_count / 1000 : 1000, 0.4);
  }
}

TEST(Dhat, WithoutAPeakItIsTheEnd) {
  Profile profile = named_profile();
  profile.has_metric[4] = profile.has_metric[5] = false;
  const DhatJson file = checked_dhat(write_dhat(profile));
  EXPECT_EQ(dhat_sum(file, "gb"), dhat_sum(file, "eb"));
  EXPECT_EQ(file.at("tg"), file.at("te"));
}

TEST(Dhat, NamesAreAnyBytesAndNothingIsAFile) {
  Profile profile = named_profile();
  profile.functions[0].name = "a\"b\\c\n\xff\x01</script>";
  checked_dhat(write_dhat(profile));
  EXPECT_TRUE(checked_dhat(write_dhat(Profile())).at("pps").empty());
}

}  // namespace
}  // namespace memprof::profile
