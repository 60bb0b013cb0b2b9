// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/statistics_unpacker.h"

#include "profile/pprof/packed_statistics.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "profile/files/base64.h"
#include "profile/files/gzip.h"
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
        "#memprof.stacks version=3 bits=20 data=", "#memprof.stacks version=1 bits=0 data=AAAA",
        "#memprof.stacks version=1 bits=65 data=AAAA", "#memprof.stacks version=1 bits=20 data=A",
        "#memprof.stacks version=1 bits=20 data=//////8=", "#memprof.stacks version=1 bits=20"}) {
    EXPECT_FALSE(unpack_statistics(bad, ignore)) << bad;
  }
  for (size_t cut = data; cut < good.size(); cut += 4)
    EXPECT_FALSE(unpack_statistics(good.substr(0, cut), ignore)) << cut;
  for (int i = 0; i < 200; ++i) {
    std::string text = good;
    text[data + random() % (text.size() - data)] = "ABCDwxyz0189+/"[random() % 14];
    unpack_statistics(text, ignore);
  }
}

TEST(PackedStatistics, DamagedColumnsAreNoticed) {
  const std::string good = pack_statistics(many(50), kTestRate).at(0);
  const std::string bytes =
      gunzip(*from_base64(std::string_view(good).substr(good.find("data=") + 5)), "", uint64_t{1} << 20);
  std::mt19937 random(3);
  size_t whole = 0;  // without the last column, which not all files have
  for (size_t cut = 0; cut < bytes.size(); ++cut) {
    const std::vector<IdentifiedStatistics> stacks =
        unpack_columns(bytes.substr(0, cut), PackedForm::kDerived);
    whole += stacks.empty() ? 0 : 1;
    for (const IdentifiedStatistics& stack : stacks) EXPECT_TRUE(stack.statistics.load_births.empty()) << cut;
  }
  EXPECT_EQ(whole, 1U);
  for (const PackedForm form : {PackedForm::kDerived, PackedForm::kOfBefore}) {
    for (int i = 0; i < 5000; ++i) {
      std::string damaged = bytes;
      damaged[random() % damaged.size()] = static_cast<char>(random());
      for (const IdentifiedStatistics& stack : unpack_columns(damaged, form)) {
        for (const double number : numbers(stack.statistics.allocated)) EXPECT_GE(number, 0);
        for (const Lifetime& lifetime : stack.statistics.lifetimes) {
          EXPECT_LT(lifetime.lifetime_class, kLifetimeClasses);
          EXPECT_TRUE(std::isfinite(lifetime.weight_bytes));
        }
        for (const Birth& birth : stack.statistics.births) EXPECT_LT(birth.part, kBirthParts);
      }
    }
  }
}

// A few bytes that unpack to many, and many stacks of a byte each.
TEST(PackedStatistics, ABombIsDamage) {
  const auto ignore = [](unsigned, uint64_t, const StackStatistics&) {};
  const std::string prefix = "#memprof.stacks version=2 bits=20 data=";
  EXPECT_FALSE(unpack_statistics(prefix + base64(gzip(std::string(size_t{2} << 20, '\0'))), ignore));
  EXPECT_FALSE(unpack_statistics(prefix + base64("no gzip"), ignore));
  const std::string many_stacks =
      std::string("\x81\x40\x00\x00", 4) + std::string(8193 * 6, '\0');  // one too many
  EXPECT_TRUE(unpack_columns(many_stacks, PackedForm::kDerived).empty());
  const std::string as_many = std::string("\x80\x40\x00\x00", 4) + std::string(8192 * 6, '\0');
  EXPECT_EQ(unpack_columns(as_many, PackedForm::kDerived).size(), 8192u);
}

}  // namespace
}  // namespace memprof::profile
