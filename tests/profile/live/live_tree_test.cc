// SPDX-License-Identifier: Apache-2.0
#include "profile/live/live_tree.h"

#include <gtest/gtest.h>

#include <string>

#include "profile/live/live_model.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

TEST(LiveTree, ACallGrowsByWhatAllBelowItGrow) {
  const auto look = [](uint64_t leak, uint64_t small) {
    report_fixture::Builder b;
    const uint32_t main = b.at("main");
    b.stack({b.at("leak"), b.at("load"), main}, 1 << 20, leak)
        .stack({b.at("leak"), b.at("store"), main}, 1 << 10, small)
        .stack({b.at("keep"), main}, 1 << 20, 100);
    LiveLook made;
    made.profile = b.profile();
    return made;
  };
  LiveChoice choice;
  choice.is_tree = true;
  LiveModel model(choice);
  model.look(look(5, 8));
  model.look(look(7, 2048));  // the second was too little to be shown
  const auto growth_of = [&](const std::string& name) {
    const Report& report = model.report();
    for (size_t i = 0; i < report.tree->nodes.size(); ++i) {
      for (const uint32_t group : report.tree->nodes[i].groups) {
        if (report.groups[group].name == name) return model.tree_growth()[i];
      }
    }
    return -1.0;
  };
  EXPECT_EQ(growth_of("load"), 2.0 * (1 << 20));
  EXPECT_EQ(growth_of("store"), 2040 * 1024);
  EXPECT_EQ(growth_of("keep"), 0);
  EXPECT_EQ(growth_of("main"), 2.0 * (1 << 20) + 2040 * 1024);
  model.count_from_now();
  EXPECT_EQ(growth_of("main"), 0);
}

TEST(LiveTree, WithoutATreeThereIsNothing) {
  EXPECT_TRUE(call_values(Report()).empty());
  EXPECT_TRUE(tree_growth({}, Report()).empty());
}

}  // namespace
}  // namespace memprof::profile
