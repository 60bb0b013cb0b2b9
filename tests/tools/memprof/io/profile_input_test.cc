// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/profile_input.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "profile/model/error.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

TEST(ProfileInput, LoadsAFile) {
  const testing_tools::Folder folder;
  testing_tools::write_file(folder / "p", profile::write_pprof(testing_tools::small_profile()));
  EXPECT_EQ(load_profile(folder / "p", AskServers::kNo).samples, 3u);
  EXPECT_THROW(load_profile(folder / "gone", AskServers::kNo), profile::Error);
}

TEST(ProfileInput, AProcessInPlaceOfAFileIsShownTheWay) {
  try {
    read_profile("123456");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), HasSubstr("123456: no file has this name"));
    EXPECT_THAT(failure.what(), HasSubstr("`memprof live 123456`"));
  }
}

TEST(ProfileInput, FilesWithoutNamesAreSaidButNotAllOfMany) {
  profile::Profile p = testing_tools::small_profile();
  p.locations.clear();
  for (uint32_t i = 0; i < 8; ++i) {
    profile::Mapping mapping;
    mapping.start = 0x10000 * (i + 1);
    mapping.limit = mapping.start + 0x1000;
    mapping.path = "/nowhere/lib" + std::to_string(i) + ".so";
    p.mappings.push_back(mapping);
    profile::Location location;
    location.address = mapping.start;
    location.mapping = static_cast<uint32_t>(p.mappings.size() - 1);
    p.locations.push_back(location);
  }
  testing::internal::CaptureStderr();
  add_names(p, AskServers::kNo);
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_THAT(said, HasSubstr("memprof: warning: /nowhere/lib0.so: no such file or directory; no names\n"));
  EXPECT_THAT(said, HasSubstr("no names for 3 more files"));
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 6);
}

TEST(ProfileInput, AMetricThatIsNotThereIsNamedWithThoseThatAre) {
  profile::Profile p = testing_tools::small_profile();
  require_metric(p, profile::Metric::kInuseSpace, "p.pb");
  p.has_metric = {true, true, false, false};
  try {
    require_metric(p, profile::Metric::kInuseSpace, "p.pb");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_STREQ(failure.what(), "p.pb: has no inuse_space; it has alloc_objects, alloc_space");
  }
}

}  // namespace
}  // namespace memprof::cli
