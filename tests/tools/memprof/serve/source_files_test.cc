// SPDX-License-Identifier: Apache-2.0
// A browser asks for them in web/browser/source.mjs.
#include "memprof/serve/source_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

std::string address_of(const std::string& path) {
  std::string name = SourceFiles::kAddress;
  for (const char letter : path) {
    for (const int digit : {(letter >> 4) & 15, letter & 15}) name += "0123456789abcdef"[digit];
  }
  return name;
}

class SourceFilesTest : public ::testing::Test {
 protected:
  SourceFilesTest() {
    for (const char* name : {"known.c", "other.c"}) testing_tools::write_file(folder_ / name, "int x;\n");
    profile::Profile profile = testing_tools::small_profile();
    profile.functions[0].filename = folder_ / "known.c";
    profile.functions[1].filename = "relative.c";
    files_.know(profile);
  }

  const testing_tools::Folder folder_;
  // Which files a rule allows: tests/profile/files/source_file_test.cc.
  SourceFiles files_{{true, {profile::real_folder(folder_.path()).value_or("")}}};
};

TEST_F(SourceFilesTest, ThoseThatTheProfileNames) {
  const auto file = files_.file(address_of(folder_ / "known.c"));
  ASSERT_TRUE(file);
  EXPECT_EQ(file->type, "application/json");
  EXPECT_EQ(file->content, R"({"is_newer":false,"lines":{"1":"int x;"}})");
}

TEST_F(SourceFilesTest, NoneThatTheRuleDoesNotAllow) {
  SourceFiles files{profile::SourceRule()};
  profile::Profile profile = testing_tools::small_profile();
  profile.functions[0].filename = folder_ / "known.c";
  files.know(profile);
  EXPECT_FALSE(files.file(address_of(folder_ / "known.c")));
}

TEST_F(SourceFilesTest, ADistrustedProfileHasTheChosenFoldersAlone) {
  chmod(folder_.path().c_str(), 0755);
  SourceFiles files{profile::SourceRule{true, {}}};
  profile::Profile profile = testing_tools::small_profile();
  profile.functions[0].filename = folder_ / "known.c";
  files.know(profile);
  EXPECT_TRUE(files.file(address_of(folder_ / "known.c")));
  files.distrust();
  EXPECT_FALSE(files.file(address_of(folder_ / "known.c")));
  files_.distrust();
  EXPECT_TRUE(files_.file(address_of(folder_ / "known.c")));
}

TEST_F(SourceFilesTest, NoOthers) {
  EXPECT_FALSE(files_.file(address_of(folder_ / "other.c")));
  EXPECT_FALSE(files_.file(address_of(folder_ / "./known.c")));
  EXPECT_FALSE(files_.file(address_of("/etc/passwd")));
  EXPECT_FALSE(files_.file(address_of("relative.c")));
}

TEST_F(SourceFilesTest, WhatIsNoAddressIsNone) {
  const std::string known = address_of(folder_ / "known.c");
  for (const std::string& name :
       {std::string(), std::string("source-"), std::string("source"), known.substr(0, known.size() - 1),
        known + "0", known + "zz", "x" + known, std::string("source-+1"), std::string("source-2 ")}) {
    EXPECT_FALSE(files_.file(name)) << name;
  }
}

}  // namespace
}  // namespace memprof::cli
