// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/row_matching.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

using ::testing::ElementsAre;

Profile with_module(const std::string& path, const std::string& build_id) {
  Profile profile;
  Mapping mapping;
  mapping.path = path;
  mapping.build_id = build_id;
  profile.mappings = {mapping};
  return profile;
}

FrameGroup group(const std::string& name, const std::string& file = "", int64_t line = 0,
                 const std::string& module = "app", const std::string& build_id = "") {
  return {name, file, line, module, build_id};
}

// Rows of the second profile's groups, by the place of the first's.
std::vector<uint32_t> matched(GroupBy by, const std::vector<FrameGroup>& first,
                              const std::vector<FrameGroup>& second, const std::string& second_build = "b",
                              const std::string& second_path = "/bin/app") {
  RowMatching matching(by);
  matching.add(with_module("/bin/app", "a"), first);
  return matching.add(with_module(second_path, second_build), second);
}

TEST(RowMatching, FunctionsAreMatchedByNameWhereverTheyAre) {
  EXPECT_THAT(
      matched(GroupBy::kFunction, {group("f", "/v1/a.c"), group("g", "/v1/b.c")},
              {group("g", "/v2/moved/c.c"), group("f", "/v2/a.c", 0, "app-2"), group("h", "/v2/a.c")}),
      ElementsAre(1, 0, 2));
}

TEST(RowMatching, SeveralOfOneNameAreToldByFileAndModule) {
  const std::vector<FrameGroup> first = {group("init", "/v1/a.c"), group("init", "/v1/b.c"),
                                         group("init", "", 0, "libx.so.1")};
  EXPECT_THAT(
      matched(GroupBy::kFunction, first,
              {group("init", "", 0, "libx.so.2"), group("init", "/v2/b.c"), group("init", "/v2/a.c")}),
      ElementsAre(2, 1, 0));
  // Who is who of two cannot be said.
  EXPECT_THAT(matched(GroupBy::kFunction, first, {group("init", "/c.c"), group("init", "/d.c")}),
              ElementsAre(3, 4));
}

TEST(RowMatching, CodeWithoutANameIsMatchedByItsBuildAndPlace) {
  const std::vector<FrameGroup> first = {group("libx.so+0x10", "", 0, "libx.so", "aa"),
                                         group("libx.so+0x20", "", 0, "libx.so", "aa")};
  // Another build: the place says nothing.
  EXPECT_THAT(matched(GroupBy::kFunction, first, {group("libx.so+0x10", "", 0, "libx.so", "bb")}),
              ElementsAre(2));
  // The same build by another name.
  EXPECT_THAT(matched(GroupBy::kLine, first, {group("copy.so+0x20", "", 0, "copy.so", "aa")}),
              ElementsAre(1));
}

TEST(RowMatching, LinesMoveWithTheirFunction) {
  const std::vector<FrameGroup> first = {group("f", "/a.c", 10), group("f", "/a.c", 13),
                                         group("f", "/a.c", 17), group("g", "/a.c", 30)};
  // Three lines came in above: 13 of the second is 10 of the first, and not 13.
  const std::vector<FrameGroup> second = {group("f", "/a.c", 13), group("f", "/a.c", 16),
                                          group("f", "/a.c", 20), group("g", "/a.c", 30)};
  EXPECT_THAT(matched(GroupBy::kLine, first, second), ElementsAre(0, 1, 2, 3));
  // In the same build no line moved.
  EXPECT_THAT(matched(GroupBy::kLine, first, second, "a"), ElementsAre(1, 4, 5, 3));
}

TEST(RowMatching, FilesModulesAndProcesses) {
  EXPECT_THAT(matched(GroupBy::kFile, {group("/v1/src/a.c"), group("/v1/src/b.c")},
                      {group("/v2/src/b.c"), group("/v2/src/c.c")}),
              ElementsAre(1, 2));
  EXPECT_THAT(matched(GroupBy::kModule, {group("app"), group("libx.so.1.2"), group("liby-3.so")},
                      {group("libx.so.1.3"), group("liby-4.so"), group("app-new")}, "b", "/bin/app-new"),
              ElementsAre(1, 2, 0));
  EXPECT_THAT(matched(GroupBy::kProcess, {group("cc 9"), group("cc 10"), group("ld 12")},
                      {group("ld 99"), group("cc 100"), group("cc 98")}),
              ElementsAre(2, 1, 0));
  EXPECT_THAT(matched(GroupBy::kHeap, {group("[default]"), group("arena")}, {group("arena"), group("other")}),
              ElementsAre(1, 2));
}

TEST(RowMatching, RowsAreCalledAsTheLastProfileCallsThem) {
  RowMatching matching(GroupBy::kFunction);
  matching.add(with_module("/bin/app", "a"), {group("f", "/v1/a.c")});
  matching.add(with_module("/bin/app", "b"), {group("f", "/v2/a.c")});
  ASSERT_EQ(matching.rows().size(), 1u);
  EXPECT_EQ(matching.rows()[0].file, "/v2/a.c");
}

}  // namespace
}  // namespace memprof::profile
