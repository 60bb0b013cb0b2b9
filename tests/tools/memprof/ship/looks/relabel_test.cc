// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/looks/relabel.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

const Labels kLabels = {
    {"host", "a"}, {"program", "gunicorn"}, {"region", "eu"}, {"service_name", "api-shop"}};

std::string nothing(const std::string&) {
  return "";
}

// The labels as text; "left out" where a rule leaves the process out.
std::string relabelled(const std::string& rules, const SpecialLabel& special = nothing) {
  Labels labels = kLabels;
  if (!relabel(parse_relabel_rules(rules, "rules.toml"), special, &labels)) return "left out";
  return label_text(labels);
}

std::string refusal(const std::string& rules) {
  try {
    parse_relabel_rules(rules, "rules.toml");
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(Relabel, Replaces) {
  EXPECT_EQ(relabelled("[[relabel]]\nsource_labels = ['service_name']\nregex = 'api-(.*)'\n"
                       "target_label = 'team'\nreplacement = 'team-$1'\n"),
            "host=\"a\" program=\"gunicorn\" region=\"eu\" service_name=\"api-shop\" team=\"team-shop\"");
  EXPECT_EQ(relabelled("[[relabel]]\nsource_labels = ['program']\nregex = 'gun'\ntarget_label = 'x'\n"
                       "replacement = 'y'\n"),
            label_text(kLabels))
      << "the whole text has to match";
}

TEST(Relabel, JoinsSourcesAndGoesOnWithWhatRulesMade) {
  EXPECT_EQ(relabelled("[[relabel]]\nsource_labels = ['host', 'region', 'none']\ntarget_label = '__tmp'\n"
                       "[[relabel]]\nsource_labels = '__tmp'\ntarget_label = 'place'\n"
                       "[[relabel]]\ntarget_label = 'region'\nreplacement = ''\n"),
            "host=\"a\" place=\"a;eu;\" program=\"gunicorn\" service_name=\"api-shop\"");
}

TEST(Relabel, KeepsAndDropsProcesses) {
  const std::string drop =
      "[[relabel]]\nsource_labels = ['program']\nregex = 'gunicorn|sh'\naction = 'drop'\n";
  EXPECT_EQ(relabelled(drop), "left out");
  const std::string keep = "[[relabel]]\nsource_labels = ['program']\nregex = 'python.*'\naction = 'keep'\n";
  EXPECT_EQ(relabelled(keep), "left out");
  EXPECT_EQ(relabelled("[[relabel]]\nsource_labels = ['region']\nregex = 'eu'\naction = 'keep'\n"),
            label_text(kLabels));
}

TEST(Relabel, LeavesLabelsOutButServiceAndHost) {
  EXPECT_EQ(relabelled("[[relabel]]\nregex = 'pro.*|host'\naction = 'labeldrop'\n"),
            "host=\"a\" region=\"eu\" service_name=\"api-shop\"");
  EXPECT_EQ(relabelled("[[relabel]]\nregex = 'region'\naction = 'labelkeep'\n"),
            "host=\"a\" region=\"eu\" service_name=\"api-shop\"");
  EXPECT_EQ(relabelled("[[relabel]]\ntarget_label = 'service_name'\nreplacement = ''\n"),
            label_text(kLabels));
}

TEST(Relabel, ReadsWhatTheProcessIs) {
  const auto special = [](const std::string& name) { return name == "__env_TEAM" ? "red" : "not " + name; };
  EXPECT_EQ(relabelled("[[relabel]]\nsource_labels = ['__env_TEAM']\ntarget_label = 'team'\n"
                       "[[relabel]]\nregex = 'team'\naction = 'labelkeep'\n",
                       special),
            "host=\"a\" service_name=\"api-shop\" team=\"red\"");
}

TEST(Relabel, ValuesAreBoundedAndLabelsFew) {
  const auto special = [](const std::string&) { return std::string(1000, 'x') + "\n"; };
  Labels labels = kLabels;
  std::string rules;
  for (int i = 0; i < 40; ++i) {
    rules += "[[relabel]]\nsource_labels = ['__env_X']\nregex = '(?s)(.*)'\ntarget_label = 'l" +
             std::to_string(i) + "'\n";
  }
  EXPECT_TRUE(relabel(parse_relabel_rules(rules, "rules.toml"), special, &labels));
  EXPECT_EQ(labels.size(), kMaxLabels);
  EXPECT_EQ(labels.at("l0"), std::string(kMaxLabelValueBytes, 'x'));
}

TEST(Relabel, WhatIsWrongIsSaidWithItsLine) {
  EXPECT_EQ(refusal(""), "--relabel: rules.toml: there is no [[relabel]] in it");
  const struct {
    const char* rule;
    const char* message;
  } kWrong[] = {
      {"action = 'hashmod'\n", ":2: action: 'hashmod' is not replace, keep, drop, labeldrop or labelkeep"},
      {"target_lable = 'x'\n", "target_lable"},
      {"source_labels = ['a']\n", "a rule that replaces needs target_label, the label that it sets"},
      {"target_label = 'a-b'\n", "rules.toml:2: target_label: 'a-b' is no name of a label"},
      {"target_label = '__a-b'\n", "rules.toml:2: target_label: 'a-b' is no name of a label"},
      {"target_label = '__pid'\n", "'__pid' is what the shipper found, and cannot be set"},
      {"target_label = 'a'\nregex = '('\n", "'(' is not a regular expression"},
      {"target_label = 'a'\nregex = 'a'\n", "'$1' names the group '1', which 'a' does not have"},
      {"action = 'drop'\n", "a rule that keeps or drops processes needs source_labels"},
      {"action = 'labeldrop'\n", "a rule of labels needs regex, which their names match"},
      {"action = 'labeldrop'\nregex = 'a'\nsource_labels = ['b']\n", "has no use in a rule of labels"},
      {"target_label = 'a'\nsource_labels = ['']\n", "the name of a label is empty"},
      {"target_label = 7\n", "target_label"},
  };
  for (const auto& wrong : kWrong) {
    const std::string said = refusal(std::string("[[relabel]]\n") + wrong.rule);
    EXPECT_EQ(said.rfind("--relabel: rules.toml:", 0), 0u) << said;
    EXPECT_NE(said.find(wrong.message), std::string::npos) << said;
  }
}

TEST(Relabel, AFileThatIsNotThereIsNamed) {
  const testing_tools::Folder folder;
  try {
    read_relabel_rules(folder / "none.toml");
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_EQ(std::string(failure.what()), "--relabel: " + (folder / "none.toml") + ": cannot read it");
  }
}

}  // namespace
}  // namespace memprof::cli
