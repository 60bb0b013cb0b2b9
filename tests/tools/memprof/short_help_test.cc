// SPDX-License-Identifier: Apache-2.0
#include "memprof/short_help.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "memprof/cli.h"

namespace memprof::cli {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(ShortHelp, FitsAScreen) {
  for (const char* command :
       {"", "run", "report", "diff", "churn", "leaks", "merge", "export", "live", "view", "attach"}) {
    const std::string text = short_help(command);
    ASSERT_FALSE(text.empty()) << command;
    EXPECT_LE(std::count(text.begin(), text.end(), '\n'), 23) << text;  // and the line of the prompt
    for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
      EXPECT_LE(text.find('\n', begin) - begin, 80u) << text.substr(begin, 90);
    }
    EXPECT_THAT(text, HasSubstr("--help")) << "says where there is more";
  }
  EXPECT_EQ(short_help("no-such"), "");
}

TEST(ShortHelp, IsWhatHSays) {
  for (const char* command :
       {"run", "report", "diff", "churn", "leaks", "merge", "export", "live", "view", "attach"}) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(cli_main({command, "-h"}), 0);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), short_help(command));
  }
  for (const std::vector<std::string>& arguments : {std::vector<std::string>{}, {"-h"}}) {
    testing::internal::CaptureStdout();
    EXPECT_EQ(cli_main(arguments), 0);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), short_help(""));
  }
}

TEST(ShortHelp, ACommandWithoutArgumentsHelpsAndFails) {
  for (const char* command :
       {"run", "report", "diff", "churn", "leaks", "merge", "export", "live", "view", "attach"}) {
    testing::internal::CaptureStderr();
    testing::internal::CaptureStdout();
    EXPECT_EQ(cli_main({command}), 2);
    EXPECT_EQ(testing::internal::GetCapturedStdout(), "");
    EXPECT_THAT(testing::internal::GetCapturedStderr(),
                AllOf(StartsWith(short_help(command) + "memprof: " + command + ": "),
                      HasSubstr(std::string("; usage: memprof ") + command)));
  }
}

}  // namespace
}  // namespace memprof::cli
