// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/targets/directory_target.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

Look look_of(const std::string& service) {
  Look look;
  look.sequence = 7;
  look.labels = {{kServiceLabel, service}, {kHostLabel, "host-a"}};
  look.pprof = "profile";
  return look;
}

TEST(DirectoryTarget, ALookIsThereOnce) {
  const testing_tools::Folder folder;
  TargetOptions options;
  options.spool_id = "abcd";
  const auto target = make_directory_target(folder.path(), options);
  EXPECT_EQ(target->send(look_of("web"), false).end, Sent::End::kAccepted);
  EXPECT_EQ(testing_tools::read_file(folder / "web/host-a.abcd.000000000007.pb.gz"), "profile");
  EXPECT_EQ(target->send(look_of("web"), false).end, Sent::End::kWasThere);
}

TEST(DirectoryTarget, NoLabelLeadsElsewhere) {
  EXPECT_EQ(file_word("../../etc"), "_._.._etc");
  EXPECT_EQ(file_word(""), "_");
  EXPECT_EQ(file_word("a/b c"), "a_b_c");
}

TEST(DirectoryTarget, AFolderThatIsGoneIsTriedAgain) {
  const testing_tools::Folder folder;
  std::filesystem::create_directory(folder / "mounted");
  const auto target = make_directory_target(folder / "mounted", {});
  std::filesystem::remove(folder / "mounted");
  const Sent sent = target->send(look_of("web"), false);
  EXPECT_EQ(sent.end, Sent::End::kLater);
  EXPECT_NE(sent.why.find("cannot make the folder"), std::string::npos);
  EXPECT_THROW(make_directory_target(folder / "mounted", {}), Failure);
}

}  // namespace
}  // namespace memprof::cli
