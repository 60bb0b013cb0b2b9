// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/ship_options.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

// A command that has them.
struct Command {
  explicit Command(const std::vector<std::string>& arguments) {
    std::vector<std::string> copy = arguments;
    parser.parse(copy);
  }
  ArgumentParser parser{"some", HelpText{"some", "", "", ""}};
  ShipLabels labels{parser, OptionText::Shown::kInHelp};
};

std::string failure_of(const std::vector<std::string>& arguments) {
  try {
    const Command command(arguments);
    command.labels.rules();
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(ShipOptions, LabelsAreRules) {
  const Command command({"--service", "shop", "--host", "a", "--label", "region=eu", "--label-env",
                         "service_version=APP_VERSION", "--pid-label", "--container-label"});
  const LabelRules rules = command.labels.rules();
  EXPECT_EQ(rules.fixed, (Labels{{"service_name", "shop"}, {"host", "a"}, {"region", "eu"}}));
  EXPECT_EQ(rules.from_environment.at("service_version"), "APP_VERSION");
  EXPECT_TRUE(rules.has_pid);
  EXPECT_TRUE(rules.has_container);
  EXPECT_EQ(command.labels.given(), "--service");
}

TEST(ShipOptions, TheHostIsKnownWithoutThem) {
  const Command command({});
  EXPECT_FALSE(command.labels.rules().fixed.at("host").empty());
  EXPECT_EQ(command.labels.given(), "");
}

TEST(ShipOptions, WhatIsWrongIsSaid) {
  EXPECT_NE(failure_of({"--label", "x"}).find("NAME=VALUE"), std::string::npos);
  EXPECT_NE(failure_of({"--label-env", "x"}).find("NAME=VARIABLE"), std::string::npos);
  EXPECT_NE(failure_of({"--service", ""}).find("empty"), std::string::npos);
  EXPECT_EQ(parse_ship_every("--every", "10s"), 10);
  EXPECT_THROW(parse_ship_every("--every", "1ms"), Failure);
  EXPECT_THROW(parse_ship_every("--every", "soon"), Failure);
}

TEST(ShipOptions, EachKindOfTargetHasALine) {
  for (const TargetKind& kind : target_kinds()) {
    EXPECT_NE(list_of_targets().find(std::string("\n  ") + kind.what), std::string::npos);
  }
}

}  // namespace
}  // namespace memprof::cli
