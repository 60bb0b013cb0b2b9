// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/source_map_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

SourceMapChoice parsed(const std::vector<std::string>& arguments) {
  ArgumentParser parser("report", {});
  const SourceMapOption option(parser);
  parser.parse(arguments);
  return option.choice();
}

// A profile of one line of a script.
profile::Profile profile_of(const std::string& file) {
  profile::Profile p;
  p.functions.push_back({"f", "f", file, 0});
  profile::Location location;
  location.lines = {{0, 1}};
  p.locations.push_back(location);
  profile::Stack stack;
  stack.locations = {0};
  p.stacks.push_back(stack);
  return p;
}

TEST(SourceMapOption, LinesAreThoseOfScriptsUnlessItIsGiven) {
  EXPECT_FALSE(parsed({}));
  ASSERT_TRUE(parsed({"--source-maps"}));
  EXPECT_EQ(parsed({"--source-maps"})->folder, "");
  const testing_tools::Folder folder;
  EXPECT_EQ(parsed({"--source-maps-in", folder / "."})->folder, folder / ".");
  EXPECT_THROW(parsed({"--source-maps-in", folder / "gone"}), Failure);
  EXPECT_THROW(parsed({"--source-maps-in", ""}), Failure);
}

TEST(SourceMapOption, SaysWhatItDidNotFind) {
  const testing_tools::Folder folder;
  testing_tools::write_file(folder / "a.js", "f();\n");
  testing::internal::CaptureStderr();
  const profile::Profile same = with_source_lines(profile_of(folder / "a.js"), std::nullopt);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  testing::internal::CaptureStderr();
  with_source_lines(profile_of(folder / "a.js"), profile::SourceMapOptions());
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              HasSubstr("no script of the profile has a source map beside it"));
  testing::internal::CaptureStderr();
  with_source_lines(profile_of("main.cc"), profile::SourceMapOptions());
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("the profile has no script of a file"));
  testing_tools::write_file(folder / "a.js.map", "{\"sources\":[\"a.ts\"],\"mappings\":\"AAEA\"}");
  testing::internal::CaptureStderr();
  const profile::Profile moved = with_source_lines(profile_of(folder / "a.js"), profile::SourceMapOptions());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  const profile::Line& line = moved.locations.at(moved.stacks.at(0).locations.at(0)).lines.at(0);
  EXPECT_EQ(moved.functions[line.function].filename, folder / "a.ts");
  EXPECT_EQ(line.line, 3);
}

}  // namespace
}  // namespace memprof::cli
