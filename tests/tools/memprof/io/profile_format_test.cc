// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/profile_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

std::string name_of(const ExportFormat* format) {
  return format == nullptr ? "" : format->name;
}

TEST(ProfileFormat, TheNameTellsTheFormat) {
  EXPECT_EQ(name_of(format_of_path("a.pb.gz")), "pb.gz");
  EXPECT_EQ(name_of(format_of_path("a.pprof")), "pb.gz");
  EXPECT_EQ(name_of(format_of_path("a.b.pb")), "pb");
  EXPECT_EQ(name_of(format_of_path("x/a.speedscope.json")), "speedscope");
  EXPECT_EQ(name_of(format_of_path("a.json")), "json");
  EXPECT_EQ(name_of(format_of_path("a.pb/b")), "");
  EXPECT_EQ(name_of(format_of_path("a.txt")), "");
  EXPECT_TRUE(is_page_path("x/a.html"));
  EXPECT_FALSE(is_page_path("a.html/b"));
}

// Each has a name and an end of its own, by which it is found.
TEST(ProfileFormat, EveryLineOfTheTableIsFound) {
  std::set<std::string> names;
  for (const ExportFormat& format : export_formats()) {
    EXPECT_TRUE(names.insert(format.name).second && names.insert(format.end).second) << format.name;
    EXPECT_EQ(format_of_path(std::string("folder.json/x") + format.end), &format);
    EXPECT_EQ(format_from_name(format.name), &format);
    EXPECT_EQ(format_from_name(format.end + 1), &format);
    EXPECT_THAT(format_ends(), ::testing::HasSubstr(format.end));
    EXPECT_THAT(format_names(), ::testing::HasSubstr(format.name));
    EXPECT_FALSE(format.write(profile::Profile(), {"x", {}, profile::GroupBy::kFunction}).empty() &&
                 std::string(format.name) != "collapsed");
  }
  EXPECT_EQ(name_of(format_from_name("pprof")), "pb.gz");
  for (const char* unknown : {"", "gif", "x.json", "a/json", "."})
    EXPECT_EQ(format_from_name(unknown), nullptr);
}

TEST(ProfileFormat, WhatWritesPprofTakesNoOtherName) {
  check_pprof_name("run", "a.pb");
  check_pprof_name("run", "/dev/null");
  EXPECT_THROW(check_pprof_name("run", "a.txt"), Failure);
  try {
    check_pprof_name("run", "a.collapsed");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), ::testing::HasSubstr("`memprof export` makes this"));
  }
}

}  // namespace
}  // namespace memprof::cli
