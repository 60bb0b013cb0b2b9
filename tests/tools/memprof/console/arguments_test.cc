// SPDX-License-Identifier: Apache-2.0
#include "memprof/console/arguments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

template <typename F>
std::string failure_of(F&& function) {
  try {
    function();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "no failure";
}

TEST(Arguments, ParsesOptionsAndPositionals) {
  ArgumentParser parser("export", {});
  std::string file;
  std::string output;
  parser.add_argument(file);
  parser.add_option({"-o,--output", "OUT", "the file to write"}, output);
  EXPECT_FALSE(parser.parse({"-o", "-", "in.pb"}));
  EXPECT_EQ(file, "in.pb");
  EXPECT_EQ(output, "-");
}

TEST(Arguments, KnowsWhatTakesAValue) {
  ArgumentParser parser("run", {});
  std::string rate;
  bool force = false;
  parser.add_option({"-r,--rate", "RATE", "bytes"}, rate);
  parser.add_flag({"--force", "", "replace it"}, force);
  EXPECT_TRUE(parser.takes_value("-r"));
  EXPECT_TRUE(parser.takes_value("--rate"));
  for (const char* name : {"--force", "--rat", "", "-r,--rate"})
    EXPECT_FALSE(parser.takes_value(name)) << name;
  EXPECT_FALSE(parser.parse({"--rate", "5"}));
  EXPECT_TRUE(parser.is_given("-r"));
  EXPECT_FALSE(parser.is_given("--force"));
}

TEST(Arguments, HelpIsPrintedWhateverElseIsGiven) {
  ArgumentParser parser("run", {"memprof run CMD", "Runs it ±.\n", "More.\n", ""});
  for (const char* option : {"--help", "-h"}) {
    testing::internal::CaptureStdout();
    EXPECT_TRUE(parser.parse({"--wat", option}));
    const std::string out = testing::internal::GetCapturedStdout();
    EXPECT_EQ(out.find("usage: memprof run CMD\n\nRuns it "), 0u);
    EXPECT_EQ(out.find("More.") != std::string::npos, option == std::string("--help"));
  }
}

int silent_command(const std::vector<std::string>& /*arguments*/) {
  throw Failure("silent: is not here");
}

int talking_command(const std::vector<std::string>& arguments) {
  ArgumentParser parser("talking", {"memprof talking", "Talks.\n", "", ""});
  bool loud = false;
  parser.add_flag({"--loud", "", "louder"}, loud);
  return parser.parse(arguments) ? 0 : 1;
}

TEST(Arguments, ACommandDescribesItself) {
  const auto description = describe_command(talking_command);
  ASSERT_TRUE(description);
  EXPECT_EQ(description->command, "talking");
  ASSERT_EQ(description->options.size(), 1u);
  EXPECT_EQ(description->options[0].text, "louder");
  EXPECT_FALSE(describe_command(silent_command)) << "of a system that this build does not have";
}

TEST(Arguments, ErrorsAreOneLineThatNamesTheInput) {
  const auto parse = [](std::vector<std::string> arguments) {
    return failure_of([&] {
      ArgumentParser parser("report", {});
      std::string value;
      std::string file;
      parser.add_argument(file);
      parser.add_option({"-n", "N", "rows"}, value);
      parser.parse(arguments);
    });
  };
  EXPECT_EQ(parse({"--wat"}), "report: unknown option '--wat'; see `memprof report --help`");
  EXPECT_EQ(parse({"a", "b"}), "report: unexpected argument 'b'; see `memprof report --help`");
  EXPECT_EQ(parse({"-n"}), "report: -n needs a value; see `memprof report --help`");
  EXPECT_THAT(parse({"-n", "1", "-n", "2"}), HasSubstr("-n was given more values"));
}

TEST(Arguments, Values) {
  EXPECT_EQ(parse_count("-n", "20"), 20u);
  for (const char* text : {"", "x", "-1", "1x", "1.5", "99999999999999999999"}) {
    EXPECT_THAT(failure_of([&] { parse_count("-n", text); }), HasSubstr("is not a whole number")) << text;
  }
  EXPECT_DOUBLE_EQ(parse_percent("--min-percent", "0.5"), 0.5);
  EXPECT_DOUBLE_EQ(parse_percent("--min-percent", "100%"), 100);
  for (const char* text : {"", "%", "x", "-1", "1x", "101", "nan", "1%%"}) {
    EXPECT_THAT(failure_of([&] { parse_percent("--min-percent", text); }), HasSubstr("is not a number from"))
        << text;
  }
  EXPECT_EQ(parse_rate("64k"), 65536u);
  EXPECT_THAT(failure_of([] { parse_rate("64q"); }), HasSubstr("'64q'"));
  EXPECT_EQ(parse_metric("alloc_space"), profile::Metric::kAllocSpace);
  EXPECT_THAT(
      failure_of([] { parse_metric("rss"); }),
      HasSubstr("'rss' is not one of peak, live, alloc, mapped, mapped_resident, resident, js, temporary, "));
  EXPECT_EQ(parse_duration_ns("--younger", "10ms"), 10'000'000u);
  EXPECT_THAT(failure_of([] { parse_duration_ns("--younger", "10"); }),
              HasSubstr("--younger: '10' is not a time"));
}

}  // namespace
}  // namespace memprof::cli
