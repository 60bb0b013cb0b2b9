// SPDX-License-Identifier: Apache-2.0
#include "profile/churn/churn_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "profile/lifetimes/temporary.h"
#include "profile/text/markup/json_text.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using ::testing::HasSubstr;
using ::testing::Not;

Report header_of(Builder& b, uint64_t younger_ns) {
  set_temporary(younger_ns, "x", &b.profile());
  ReportOptions options;
  options.metric = Metric::kTemporarySpace;
  options.has_table = false;
  return build_report(b.profile(), options);
}

Builder& fill(Builder& b) {
  b.stack({b.at("parse(int)", "/src/parse.cc", 7), b.at("main")}, 1024, 1000, 0).freed_after(20000);
  b.stack({b.at("load"), b.at("main")}, 1 << 20, 2, 0).freed_after(2000000);
  return b;
}

TEST(ChurnReport, IsATableWithAdvice) {
  Builder b;
  const Report report = header_of(fill(b), 10000000);
  const std::string text = churn_text(find_churn(b.profile()), report);
  EXPECT_THAT(text, HasSubstr("freed within 10 ms: 100.0% of what was allocated"));
  EXPECT_THAT(text, HasSubstr("1.0 KiB"));
  EXPECT_THAT(text, HasSubstr("20 to 60 us"));
  EXPECT_THAT(text, HasSubstr("parse(int)  /src/parse.cc:7"));
  EXPECT_THAT(text, HasSubstr("stack:"));
  EXPECT_THAT(text, HasSubstr("reuse:"));
  EXPECT_THAT(text, Not(HasSubstr("pool:")));
  EXPECT_THAT(text, HasSubstr("an estimate by numbers and sizes of blocks, not a"));
  ChurnOptions options;
  options.max_rows = 1;
  EXPECT_THAT(churn_text(find_churn(b.profile(), options), report),
              HasSubstr("1 of 2 rows shown; -n 2 shows all."));
}

// `ones` of NumPy, in memory of an extension, for the program's own line.
Builder& fill_with_python(Builder& b) {
  b.module("_umath.so");
  const uint32_t empty = b.at("array_empty");
  const uint32_t ones = b.python("ones", "/usr/lib/python3/dist-packages/numpy/numeric.py", 12);
  b.stack({empty, ones, b.python("prices", "app.py", 4)}, 1 << 20, 3, 0).freed_after(20000);
  return b;
}

TEST(ChurnReport, SaysWhatALineOfPythonAllocatesThroughAndForWhom) {
  Builder b;
  const Report report = header_of(fill_with_python(b), 10000000);
  const Churn churn = find_churn(b.profile());
  EXPECT_THAT(churn_text(churn, report),
              HasSubstr("numeric.py:12  for prices (app.py:4) through array_empty"));
  const auto row = json_from_text(churn_json(churn, report))["rows"][0];
  EXPECT_EQ(row["through"]["function"], "array_empty");
  EXPECT_EQ(row["called_by"]["line"], 4);
}

TEST(ChurnReport, SaysWhereThereIsNothing) {
  Builder b;
  const Report report = header_of(fill(b), 1000);
  EXPECT_THAT(churn_text(find_churn(b.profile()), report),
              HasSubstr("Nothing was freed within 1 us; --younger TIME"));
  EXPECT_TRUE(json_from_text(churn_json(find_churn(b.profile()), report))["rows"].empty());
}

TEST(ChurnReport, JsonHasTheDocumentedFields) {
  Builder b;
  const Report report = header_of(fill(b), 10000000);
  const auto json = json_from_text(churn_json(find_churn(b.profile()), report));
  EXPECT_EQ(json["younger_ns"], 10000000);
  EXPECT_EQ(json["totals"]["temporary_objects"]["value"], 1002);
  const auto& row = json["rows"][1];
  EXPECT_EQ(row["name"], "parse(int)");
  EXPECT_EQ(row["file"], "/src/parse.cc");
  EXPECT_EQ(row["temporary_space"]["low"], 1024000);
  EXPECT_EQ(row["mean_size_bytes"], 1024);
  EXPECT_EQ(row["likely_cpu_ns"]["high"], 60000);
  EXPECT_EQ(row["advice"], "stack");
}

}  // namespace
}  // namespace memprof::profile
