// SPDX-License-Identifier: Apache-2.0
#include "profile/churn/churn.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/lifetimes/temporary.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;

constexpr uint64_t kMs = 1'000'000;

Churn churn_of(Builder& b, const ChurnOptions& options = {}, uint64_t younger_ns = 10 * kMs) {
  set_temporary(younger_ns, "x", &b.profile());
  return find_churn(b.profile(), options);
}

TEST(Churn, RowsAreWhatWasFreedSoonByPlace) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t parse = b.at("parse(int)", "/src/parse.cc", 7);
  b.stack({parse, main}, 100, 1000, 0).freed_after(20000);
  b.stack({parse, b.at("other"), main}, 100, 10, 0).freed_after(60000 * kMs);
  b.stack({b.at("load"), main}, 20000, 90, 0).freed_after(2 * kMs);
  b.stack({b.at("keep"), main}, 1000, 40);
  const Churn churn = churn_of(b);
  ASSERT_EQ(churn.row_count, 2u);
  EXPECT_EQ(churn.rows[0].place.name, "load");
  EXPECT_EQ(churn.rows[0].bytes.value, 90 * 20000);
  EXPECT_EQ(churn.rows[0].blocks.value, 90);
  EXPECT_EQ(churn.rows[0].mean_size_bytes, 20000);
  const ChurnRow& row = churn.rows[1];
  EXPECT_EQ(row.place.name, "parse(int)");
  EXPECT_EQ(row.bytes.value, 100000);
  EXPECT_EQ(row.bytes.low, row.bytes.high);  // exact
  EXPECT_GE(row.median_lifetime_ns, 10000);
  EXPECT_LE(row.median_lifetime_ns, 30000);
  EXPECT_EQ(row.allocated_bytes, 100000);  // of the stacks that churn
  EXPECT_EQ(row.cpu.low_ns, 1000 * 20);
  EXPECT_EQ(row.cpu.high_ns, 1000 * 60);
  EXPECT_DOUBLE_EQ(churn.cpu.low_ns, row.cpu.low_ns + churn.rows[0].cpu.low_ns);
  ChurnOptions options;
  options.by_blocks = true;
  options.max_rows = 1;
  const Churn by_blocks = churn_of(b, options);
  EXPECT_EQ(by_blocks.row_count, 2u);
  ASSERT_EQ(by_blocks.rows.size(), 1u);
  EXPECT_EQ(by_blocks.rows[0].place.name, "parse(int)");
  options.filter.ignore = Pattern("parse");
  EXPECT_EQ(churn_of(b, options).row_count, 1u);
  EXPECT_EQ(churn_of(b, {}, 1000).row_count, 0u);
}

TEST(Churn, AdviceFollowsFromSizeTimeAndWhoAllocates) {
  const auto advice = [](uint64_t size_bytes, uint64_t lifetime_ns, const char* above) {
    Builder b;
    b.stack({b.at(above), b.at("site"), b.at("main")}, size_bytes, 100, 0).freed_after(lifetime_ns);
    return churn_of(b).rows.at(0).advice;
  };
  EXPECT_EQ(advice(48, 5000, "make"), ChurnAdvice::kStack);
  EXPECT_EQ(advice(48, 5 * kMs, "make"), ChurnAdvice::kPool);
  EXPECT_EQ(advice(4096, 5000, "make"), ChurnAdvice::kPool);
  EXPECT_EQ(advice(1 << 20, 5000, "make"), ChurnAdvice::kReuse);
  EXPECT_EQ(advice(48, 5000, "void std::vector<int>::_M_realloc_insert<int>()"), ChurnAdvice::kReserve);
  EXPECT_EQ(advice(1 << 20, 5000, "alloc::raw_vec::RawVec<T,A>::grow_amortized"), ChurnAdvice::kReserve);
  Builder b;
  b.stack({b.at("list_resize"), b.python("loop", "app.py", 3)}, 48, 100, 0).freed_after(5000);
  EXPECT_EQ(churn_of(b).rows.at(0).advice, ChurnAdvice::kReuse);
}

TEST(Churn, CpuGrowsWithNumberAndSize) {
  EXPECT_EQ(likely_cpu(1000, 64).low_ns, 20000);
  EXPECT_EQ(likely_cpu(1000, 64).high_ns, 60000);
  EXPECT_EQ(likely_cpu(10, 10000).high_ns, 2500);
  const CpuRange large = likely_cpu(1, 1 << 20);
  EXPECT_EQ(large.high_ns, 2000 + 256 * 250);
  EXPECT_LT(large.low_ns, large.high_ns);
}

TEST(Churn, EachAdviceHasAName) {
  for (size_t i = 0; i < kChurnAdvices; ++i) {
    EXPECT_STRNE(advice_name(static_cast<ChurnAdvice>(i)), "");
    EXPECT_STRNE(advice_text(static_cast<ChurnAdvice>(i)), "");
  }
}

}  // namespace
}  // namespace memprof::profile
