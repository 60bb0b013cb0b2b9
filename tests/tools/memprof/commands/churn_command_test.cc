// SPDX-License-Identifier: Apache-2.0
#include "memprof/commands/churn_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profile/text/markup/json_text.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using testing_tools::memprof;

// One of whose stacks everything that is not live was freed after 2 ms.
profile::Profile churning_profile() {
  profile::Profile profile = testing_tools::small_profile();
  profile::Stack& stack = profile.stacks.at(0);
  stack.freed = {2, 200, 200, 2, 0, 0, 0, 0};
  stack.lifetimes = {{0, lifetime_class(2000000), 2, 200, 200, 2}};
  return profile;
}

class ChurnCommand : public ::testing::Test {
 protected:
  ChurnCommand() : file_(folder_ / "p.pb.gz") {
    testing_tools::write_file(file_, profile::write_pprof(churning_profile()));
  }
  testing_tools::Folder folder_;
  std::string file_;
};

TEST_F(ChurnCommand, PrintsATable) {
  const auto result = memprof({"churn", file_});
  EXPECT_EQ(result.status, 0);
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, HasSubstr("freed within 10 ms"));
  EXPECT_THAT(result.out, HasSubstr("insert(int)"));
  EXPECT_THAT(result.out, HasSubstr("40 to 100 ns"));
  EXPECT_THAT(memprof({"churn", file_, "--younger", "1ms"}).out, HasSubstr("Nothing was freed within 1 ms"));
  EXPECT_THAT(memprof({"churn", "--help"}).out, HasSubstr("usage: memprof churn FILE"));
}

TEST_F(ChurnCommand, PrintsJson) {
  const auto json = profile::json_from_text(memprof({"churn", "--json", file_, "--younger", "25ms"}).out);
  EXPECT_EQ(json["younger_ns"], 30000000);
  ASSERT_EQ(json["rows"].size(), 1u);
  EXPECT_EQ(json["rows"][0]["temporary_space"]["value"], 200);
}

TEST_F(ChurnCommand, ErrorsAreOneLineAndStatusTwo) {
  profile::Profile old = churning_profile();
  old.stacks[0].lifetimes.clear();
  testing_tools::write_file(folder_ / "old.pb", profile::write_pprof(old));
  const std::vector<std::pair<std::vector<std::string>, std::string>> cases = {
      {{"churn", "-n", "3"}, "churn: no profile given"},
      {{"churn", folder_ / "gone"}, folder_ / "gone"},
      {{"churn", file_, "--younger", "10"}, "--younger: '10' is not a time"},
      {{"churn", file_, "--by", "colour"}, "'colour'"},
      {{"churn", file_, "-n", "-1"}, "-n: '-1'"},
      {{"churn", file_, "--focus", "["}, "--focus: '['"},
      {{"churn", file_, "--loud"}, "'--loud'"},
      {{"churn", folder_ / "old.pb"}, "does not say how long blocks lived: an older memprof"},
  };
  for (const auto& [arguments, expected] : cases) {
    const auto result = memprof(arguments);
    EXPECT_EQ(result.status, 2) << expected;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, HasSubstr(expected));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
  }
}

}  // namespace
}  // namespace memprof::cli
