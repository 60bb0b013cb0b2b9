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
  ArgumentParser parser("export");
  std::string file;
  std::string output;
  parser.add_option("FILE", file);
  parser.add_option("-o", output);
  EXPECT_FALSE(parser.parse({"-o", "-", "in.pb"}));
  EXPECT_EQ(file, "in.pb");
  EXPECT_EQ(output, "-");
}

TEST(Arguments, ErrorsAreOneLineThatNamesTheInput) {
  const auto parse = [](std::vector<std::string> arguments) {
    return failure_of([&] {
      ArgumentParser parser("report");
      std::string value;
      std::string file;
      parser.add_option("FILE", file);
      parser.add_option("-n", value);
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
