// SPDX-License-Identifier: Apache-2.0
#include "memprof/serve/source_root_option.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

std::vector<std::string> roots_of(const std::vector<std::string>& arguments) {
  ArgumentParser parser("view", {});
  const SourceRootOption option(parser);
  parser.parse(arguments);
  return option.roots();
}

TEST(SourceRootOption, FoldersWithoutLinks) {
  const testing_tools::Folder folder;
  const std::string real = profile::real_folder(folder.path()).value_or("");
  ASSERT_EQ(symlink(folder.path().c_str(), (folder / "link").c_str()), 0);
  EXPECT_TRUE(roots_of({}).empty());
  EXPECT_THAT(roots_of({"--source-root", folder / "link", "--source-root", "/"}),
              ::testing::ElementsAre(real, "/"));
  EXPECT_THROW(roots_of({"--source-root", folder / "missing"}), Failure);
}

TEST(SourceRootOption, OwnProfilesAreTrustedAndOthersAreNot) {
  const testing_tools::Folder folder;
  const std::string own = folder / "p.pb.gz";
  testing_tools::write_file(own, "x");
  EXPECT_TRUE(source_rule_of_file(own, {}).is_own);
  EXPECT_TRUE(is_own_profile(own + "@peak")) << "a moment of it";
  chmod(own.c_str(), 0666);
  EXPECT_FALSE(is_own_profile(own));
  EXPECT_FALSE(source_rule_of_file("-", {}).is_own);
  chmod(own.c_str(), 0600);
  const std::string other = own + "@x";  // a file, and no moment of an own one
  testing_tools::write_file(other, "x");
  chmod(other.c_str(), 0666);
  EXPECT_FALSE(is_own_profile(other));
}

TEST(SourceRootOption, SaysWhyThereIsNoText) {
  ::testing::internal::CaptureStderr();
  source_rule_of_file("-", {"/"});
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "");
  ::testing::internal::CaptureStderr();
  source_rule_of_file("-", {});
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("--source-root DIR allows"));
}

TEST(SourceRootOption, ProcessesOfThisUserAreOwn) {
  RunningProcess process;
  process.pid = static_cast<uint64_t>(getpid());
  EXPECT_TRUE(source_rule_of_process(process, {}).is_own);
  process.pid = 0;
  EXPECT_FALSE(source_rule_of_process(process, {}).is_own) << "not known";
}

}  // namespace
}  // namespace memprof::cli
