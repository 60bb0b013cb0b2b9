// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/run_options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

using ::testing::ElementsAre;

std::string error_of(const std::vector<std::string>& arguments) {
  try {
    parse_run_options(arguments);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status(), 2);
    return failure.what();
  }
  return "no error";
}

TEST(RunOptions, Defaults) {
  const RunOptions options = parse_run_options({"ls"});
  EXPECT_FALSE(options.rate_bytes) << "it starts fine";
  EXPECT_EQ(options.output, "memprof.%n.%p.pb.gz");
  EXPECT_FALSE(options.force);
  EXPECT_FALSE(options.raw);
  EXPECT_TRUE(options.ask_servers);
  EXPECT_FALSE(options.keep_all);
  EXPECT_THAT(options.command, ElementsAre("ls"));
  EXPECT_TRUE(parse_run_options({"--keep-all", "ls"}).keep_all);
}

TEST(RunOptions, EveryOptionInEveryForm) {
  const RunOptions options =
      parse_run_options({"-r", "64k", "-o", "x.pb", "--force", "--raw", "--no-debuginfod", "--", "ls", "-l"});
  EXPECT_EQ(options.rate_bytes, 65536u);
  EXPECT_EQ(options.output, "x.pb");
  EXPECT_TRUE(options.force);
  EXPECT_TRUE(options.raw);
  EXPECT_FALSE(options.ask_servers);
  EXPECT_THAT(options.command, ElementsAre("ls", "-l"));
  EXPECT_EQ(parse_run_options({"-r0", "ls"}).rate_bytes, 0u);
  EXPECT_EQ(parse_run_options({"--rate=1M", "ls"}).rate_bytes, 1048576u);
  EXPECT_EQ(parse_run_options({"--output=x.pprof", "ls"}).output, "x.pprof");
}

TEST(RunOptions, WhereTheRunIsShipped) {
  const RunOptions options = parse_run_options({"--ship", "/a", "--ship", "http://b", "--ship-every", "5s",
                                                "--label", "region=eu", "--token-file", "t", "ls"});
  ASSERT_TRUE(options.ship);
  EXPECT_THAT(options.ship->targets, ElementsAre("/a", "http://b"));
  EXPECT_EQ(options.ship->every_s, 5);
  EXPECT_EQ(options.ship->labels.fixed.at("region"), "eu");
  EXPECT_EQ(options.ship->network.access.token_file, "t");
  EXPECT_FALSE(parse_run_options({"ls"}).ship);
  for (const char* option : {"--ship-every", "--service", "--label", "--ca-file"}) {
    EXPECT_EQ(error_of({option, "1s", "ls"}),
              std::string(option) + ": nothing is sent without --ship TARGET; leave it out");
  }
  EXPECT_THAT(error_of({"--ship", "/a", "--ship-every", "1ms", "ls"}),
              ::testing::HasSubstr("--ship-every: '1ms'"));
}

TEST(RunOptions, WhatFollowsTheProgramIsItsOwn) {
  EXPECT_THAT(parse_run_options({"-r", "1k", "prog", "--force", "--", "-r", "x", "--help"}).command,
              ElementsAre("prog", "--force", "--", "-r", "x", "--help"));
  EXPECT_FALSE(parse_run_options({"prog", "--force"}).force);
  EXPECT_THAT(parse_run_options({"--", "--odd-name", "a"}).command, ElementsAre("--odd-name", "a"));
  EXPECT_THAT(parse_run_options({"-o", "--.pb", "--", "prog"}).command, ElementsAre("prog"));
}

TEST(RunOptions, Help) {
  EXPECT_TRUE(parse_run_options({"--help"}).wants_help);
  EXPECT_TRUE(parse_run_options({"--bogus", "--help"}).wants_help);
  EXPECT_FALSE(parse_run_options({"prog", "--help"}).wants_help);
}

TEST(RunOptions, EveryErrorNamesItsInput) {
  EXPECT_THAT(error_of({}), ::testing::HasSubstr("no program given"));
  EXPECT_THAT(error_of({"--"}), ::testing::HasSubstr("no program given"));
  EXPECT_THAT(error_of({"-r"}), ::testing::HasSubstr("needs a value"));
  EXPECT_THAT(error_of({"-r", "fast", "ls"}), ::testing::HasSubstr("'fast' is not a rate"));
  EXPECT_THAT(error_of({"--bogus", "ls"}), ::testing::HasSubstr("unknown option '--bogus'"));
  EXPECT_THAT(error_of({"-o", "", "ls"}), ::testing::HasSubstr("the path is empty"));
  EXPECT_THAT(error_of({"-o", "-", "ls"}), ::testing::HasSubstr("standard output is the program's"));
  EXPECT_THAT(error_of({"-o", "x.speedscope.json", "ls"}), ::testing::HasSubstr("memprof export"));
  for (const char* name : {"x", "x.html", "x.svg"}) {
    EXPECT_THAT(error_of({"-o", name, "ls"}), ::testing::HasSubstr("its name ends in .pb.gz or .pb"));
  }
  EXPECT_EQ(parse_run_options({"-o", "/dev/null", "ls"}).output, "/dev/null");
}

}  // namespace
}  // namespace memprof::cli
