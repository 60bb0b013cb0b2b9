// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/statistics_unpacker.h"

#include "profile/pprof/packed_statistics.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/profile/pprof/many_statistics.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

TEST(PackedStatistics, DamageIsNoticedAndHoldsNobodyUp) {
  const std::string good = pack_statistics(many(50), kTestRate).at(0);
  const size_t data = good.find("data=") + 5;
  std::mt19937 random(3);
  const auto ignore = [](unsigned, uint64_t, const StackStatistics&) {};
  for (const char* bad :
       {"", "#memprof.stacks",
        "#memprof.stacks version=2 bits=20 data=", "#memprof.stacks version=1 bits=0 data=AAAA",
        "#memprof.stacks version=1 bits=65 data=AAAA", "#memprof.stacks version=1 bits=20 data=A",
        "#memprof.stacks version=1 bits=20 data=//////8=", "#memprof.stacks version=1 bits=20"}) {
    EXPECT_FALSE(unpack_statistics(bad, ignore)) << bad;
  }
  for (size_t cut = data; cut < good.size(); cut += 4)
    EXPECT_FALSE(unpack_statistics(good.substr(0, cut), ignore)) << cut;
  for (int i = 0; i < 2000; ++i) {
    std::string text = good;
    text[data + random() % (text.size() - data)] = "ABCDwxyz0189+/"[random() % 14];
    unpack_statistics(text, [](unsigned, uint64_t, const StackStatistics& own) {
      for (const double number : numbers(own.allocated)) EXPECT_GE(number, 0);
    });
  }
}

}  // namespace
}  // namespace memprof::profile
