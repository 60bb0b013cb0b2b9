// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "profile/leaks/leaks_report.h"
#include "tests/profile/leaks/simulation.h"

namespace memprof::profile {
namespace {

using leak_simulation::kNever;
using leak_simulation::Simulation;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string reason_of(const std::function<void(Simulation&)>& program) {
  Simulation s(600, 0, 1);
  program(s);
  const Leaks leaks = find_leaks({{"x", s.profile()}});
  return leak_reason(leaks.rows.at(0), leaks);
}

TEST(LeakReason, of_a_leak_has_its_share_and_its_growth) {
  const std::string some = reason_of([](Simulation& s) {
    for (int i = 0; i < 6000; ++i)
      s.block("a", 1 << 20, 0.1 * i + 0.01, i % 10 == 0 ? kNever : 0.1 * i + 1.01);
  });
  EXPECT_THAT(
      some,
      AllOf(HasSubstr("10 % of the blocks of this place (95 %: 9.4 % to 11 %) are never freed (the others "
                      "within 37.5 s), since the start: 60.1 MiB a minute (95 %: "),
            HasSubstr(")")));
  const std::string all = reason_of([](Simulation& s) {
    for (int i = 0; i < 600; ++i) s.block("a", 1 << 20, i + 0.5);
  });
  EXPECT_THAT(all, HasSubstr("no block of this place was freed, since the start: 60.0 MiB a minute"));
}

TEST(LeakReason, of_others_says_when) {
  EXPECT_THAT(reason_of([](Simulation& s) {
                for (int i = 0; i < 600; ++i) s.block("a", 1 << 20, i, i + 40.0);
              }),
              HasSubstr("steady turnover: median lifetime of freed blocks "));
  EXPECT_THAT(reason_of([](Simulation& s) {
                for (int i = 0; i < 300; ++i) s.block("a", 1 << 20, i);
              }),
              HasSubstr("grew until 300 s after the start, and hardly since"));
  EXPECT_THAT(reason_of([](Simulation& s) {
                for (int i = 0; i < 300; ++i) s.block("a", 1 << 20, 1);
              }),
              HasSubstr("allocated in the first 37.5 s and kept"));
  EXPECT_THAT(reason_of([](Simulation& s) {
                for (int i = 0; i < 300; ++i) s.block("a", 1 << 20, 310);
              }),
              HasSubstr("allocated between 300 s and 338 s after the start, and kept"));
  EXPECT_THAT(reason_of([](Simulation& s) {
                for (int i = 0; i < 300; ++i) s.block("a", 1 << 20, 599);
              }),
              HasSubstr("too young to tell"));
  EXPECT_THAT(reason_of([](Simulation& s) { s.block("a", 1 << 20, 1); }),
              HasSubstr("1 live sample is too few to tell"));
  EXPECT_THAT(reason_of([](Simulation& s) {
                for (int i = 400; i < 600; ++i) s.block("a", 1 << 20, i);
              }),
              HasSubstr("200 samples that are kept, since 375 s after the start: "));
}

}  // namespace
}  // namespace memprof::profile
