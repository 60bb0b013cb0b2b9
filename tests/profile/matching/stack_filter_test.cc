// SPDX-License-Identifier: Apache-2.0
#include "profile/matching/stack_filter.h"

#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;

class StackFilterTest : public ::testing::Test {
 protected:
  StackFilterTest() {
    const uint32_t malloc = b_.at("malloc");
    const uint32_t main = b_.at("main", "/src/main.cc", 3);
    const uint32_t parse = b_.at("parse(int)", "/src/json/parse.cc", 9);
    const uint32_t inflate = b_.module("libz.so.1").at("");
    b_.profile().functions.back().system_name = "_Z5parsei";
    b_.stack({malloc, parse, main}, 1, 1).stack({malloc, inflate, main}, 1, 1).stack({malloc, main}, 1, 1);
    b_.stack({}, 1, 1);
  }

  // The stacks that stay, as digits.
  std::string selected(const char* focus, const char* ignore = nullptr) {
    StackFilter filter;
    if (focus != nullptr) filter.focus = Pattern(focus);
    if (ignore != nullptr) filter.ignore = Pattern(ignore);
    const std::vector<bool> is_selected = select_stacks(b_.profile(), filter);
    std::string text;
    for (size_t i = 0; i < is_selected.size(); ++i) text += is_selected[i] ? std::to_string(i) : "";
    return text;
  }

  Builder b_;
};

TEST_F(StackFilterTest, MatchesFunctionsFilesAndModules) {
  EXPECT_EQ(selected(nullptr), "0123");
  EXPECT_EQ(selected("parse"), "0");
  EXPECT_EQ(selected("^parse\\(int\\)$"), "0");
  EXPECT_EQ(selected("_Z5parse"), "0") << "as in the symbol table";
  EXPECT_EQ(selected("src/json/"), "0");
  EXPECT_EQ(selected("main"), "012");
  EXPECT_EQ(selected("libz"), "1");
  EXPECT_EQ(selected("/opt/libz"), "1") << "the whole path";
  EXPECT_EQ(selected("libz.so.1\\+0x"), "1") << "as the report shows it";
  EXPECT_EQ(selected("nowhere"), "");
}

TEST_F(StackFilterTest, MatchesNamesAsShownAndWhole) {
  b_.stack({b_.symbol("void Pool<int>::get<long>()", "_Z3get")}, 1, 1);
  EXPECT_EQ(selected("^Pool<>::get"), "4");
  EXPECT_EQ(selected("^void Pool<int>"), "4");
}

TEST_F(StackFilterTest, IgnoreTakesStacksAway) {
  EXPECT_EQ(selected(nullptr, "parse"), "123");
  EXPECT_EQ(selected("main", "libz"), "02");
  EXPECT_EQ(selected(nullptr, "main"), "3");
  EXPECT_EQ(selected("parse", "parse"), "");
}

TEST_F(StackFilterTest, TheAllocatorIsOnEveryStackAndMatchesNone) {
  EXPECT_EQ(selected("^malloc$"), "");
  EXPECT_EQ(selected(nullptr, "^malloc$"), "0123");
}

TEST(StackFilter, OfSeveralProcessesOne) {
  report_fixture::Builder b;
  const uint32_t main = b.at("main");
  b.stack({main}, 1, 1).stack({main}, 1, 1);
  b.profile().stacks[0].process = "cc1plus 12";
  b.profile().stacks[1].process = "as 13";
  StackFilter filter;
  filter.process = Pattern("^cc1");
  EXPECT_EQ(select_stacks(b.profile(), filter), (std::vector<bool>{true, false}));
  filter.process = Pattern(" 13$");
  EXPECT_EQ(select_stacks(b.profile(), filter), (std::vector<bool>{false, true}));
  // Of one process all stacks are its own.
  for (Stack& stack : b.profile().stacks) stack.process.clear();
  EXPECT_EQ(select_stacks(b.profile(), filter), (std::vector<bool>{false, false}));
  filter.process = Pattern("^server 4711$");
  EXPECT_EQ(select_stacks(b.profile(), filter), (std::vector<bool>{true, true}));
}

TEST(StackFilter, AHeapCountsAsAFrame) {
  report_fixture::Builder b;
  const uint32_t main = b.at("main");
  b.stack({main}, 1, 1).stack({main}, 1, 1).stack({main}, 1, 1);
  b.profile().stacks[0].heap = "pool:a";
  b.profile().stacks[1].heap = "pool:b";
  StackFilter filter;
  filter.focus = Pattern("pool:");
  EXPECT_EQ(select_stacks(b.profile(), filter), (std::vector<bool>{true, true, false}));
  filter.ignore = Pattern("^pool:b$");
  EXPECT_EQ(select_stacks(b.profile(), filter), (std::vector<bool>{true, false, false}));
  filter.focus.reset();
  EXPECT_EQ(select_stacks(b.profile(), filter), (std::vector<bool>{true, false, true}));
}

}  // namespace
}  // namespace memprof::profile
