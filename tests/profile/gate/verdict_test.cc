// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/verdict.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

GateCheck check_of(const std::string& text) {
  return parse_limit_file(text, "memprof.toml").checks.at(0);
}

// 300 blocks of 1,000 bytes by `cache`, 100 by `pool`, all called by main.
Profile server(uint64_t rate_bytes = 0, uint64_t cache = 300) {
  Builder builder(rate_bytes);
  const uint32_t main = builder.at("main", "main.c", 3);
  builder.stack({builder.at("cache", "cache.c", 12), main}, 1000, cache, cache);
  builder.module("libpool.so");
  builder.stack({builder.at("pool", "pool.c", 20), main}, 1000, 200, 100);
  return builder.profile();
}

std::vector<GateResult> judged(const std::string& limits, const Profile& profile) {
  return judge(check_of(limits), {{"new.pb.gz", profile}}, {});
}

GateResult one(const std::string& limits, const Profile& profile) {
  const std::vector<GateResult> results = judged(limits, profile);
  EXPECT_EQ(results.size(), 1u) << limits;
  return results.at(0);
}

// `ones` of NumPy, in memory of an extension, for a line of the program's own.
Profile arrays() {
  Builder builder;
  builder.module("_umath.so");
  const uint32_t empty = builder.at("array_empty");
  const uint32_t ones = builder.python("ones", "/usr/lib/python3/dist-packages/numpy/numeric.py", 12);
  builder.stack({empty, ones, builder.python("prices", "app.py", 4)}, 1000, 10);
  return builder.profile();
}

std::vector<std::string> names(const GateResult& result) {
  std::vector<std::string> all;
  for (const GateSite& site : result.sites) all.push_back(site.group.name);
  return all;
}

TEST(Verdict, SitesOfPythonSayWhatTheyAllocateThroughAndForWhom) {
  for (const char* limits : {"live = 9999", "[[row]]\nby = \"function\"\nlive = 9999"}) {
    const GateResult fail = one(limits, arrays());
    ASSERT_EQ(fail.sites.size(), 1u) << limits;
    EXPECT_EQ(fail.sites[0].group.name, "ones");
    EXPECT_EQ(fail.sites[0].notes.through->function, "array_empty");
    EXPECT_EQ(fail.sites[0].notes.called_by->line, 4);
  }
}

TEST(Verdict, ExactValuesAreJudgedAsTheyAre) {
  const GateResult pass = one("live = 400000", server());
  EXPECT_EQ(pass.verdict, Verdict::kPass);
  EXPECT_EQ(pass.estimate->value, 400'000);
  EXPECT_THAT(pass.sites, IsEmpty());
  const GateResult fail = one("live = 399999", server());
  EXPECT_EQ(fail.verdict, Verdict::kFail);
  EXPECT_EQ(fail.what, "390.6 KiB");
  EXPECT_THAT(names(fail), ElementsAre("cache", "pool"));
  EXPECT_EQ(fail.sites[0].group.file, "cache.c");
  EXPECT_EQ(fail.sites[0].group.line, 12);
  EXPECT_EQ(fail.sites[0].value, 300'000);
  EXPECT_EQ(one("alloc_objects = 500", server()).verdict, Verdict::kPass);
  EXPECT_EQ(one("alloc_objects = 499", server()).verdict, Verdict::kFail);
  EXPECT_EQ(one("live = 0", server()).verdict, Verdict::kFail);
}

TEST(Verdict, TheLowEndOfTheIntervalCounts) {
  // About 26 MB in 400 samples, 10 % more or less.
  const Profile profile = server(65536);
  const GateResult all = one("live = \"1 GB\"", profile);
  EXPECT_EQ(all.verdict, Verdict::kPass);
  ASSERT_TRUE(all.estimate);
  const auto at = [&](double bytes) {
    return one("live = " + std::to_string(static_cast<uint64_t>(bytes)), profile);
  };
  EXPECT_EQ(at(all.estimate->low - 1).verdict, Verdict::kFail);
  const GateResult chance = at(all.estimate->low + 1);
  EXPECT_EQ(chance.verdict, Verdict::kPass);
  EXPECT_THAT(chance.what, HasSubstr("more, but it may be chance"));
  EXPECT_EQ(at(all.estimate->value * 1.01).verdict, Verdict::kPass);
}

TEST(Verdict, ThereIsNoneWhereTheIntervalDoesNotRuleOutTwiceTheLimit) {
  // One sample: a block that was seen, and how many that were not?
  const GateResult few = one("[[site]]\nfocus = \"cache\"\nlive = \"70 KB\"", server(65536, 1));
  EXPECT_EQ(few.verdict, Verdict::kNone);
  EXPECT_THAT(few.what, HasSubstr("a smaller rate tells"));
  EXPECT_EQ(one("[[site]]\nfocus = \"cache\"\nlive = \"1 MB\"", server(65536, 1)).verdict, Verdict::kPass);
}

TEST(Verdict, NoSampleIsNotZero) {
  Builder builder(65536);
  builder.stack({builder.at("main")}, 1000, 5, 0);  // all freed
  EXPECT_EQ(one("live = \"64 KB\"", builder.profile()).verdict, Verdict::kNone);
  EXPECT_EQ(one("live = \"1 MB\"", builder.profile()).verdict, Verdict::kPass);
  EXPECT_EQ(one("live_objects = 1000", builder.profile()).verdict, Verdict::kNone);
  Builder exact(0);
  exact.stack({exact.at("main")}, 1000, 5, 0);
  EXPECT_EQ(one("live = 0", exact.profile()).verdict, Verdict::kPass);
  EXPECT_EQ(one("live_objects = 0", exact.profile()).verdict, Verdict::kPass);
}

TEST(Verdict, ASiteIsWhatPassesThroughCodeThatMatches) {
  EXPECT_EQ(one("[[site]]\nfocus = \"pool\"\nlive = 100000", server()).verdict, Verdict::kPass);
  EXPECT_EQ(one("[[site]]\nfocus = \"libpool\"\nlive = 99999", server()).verdict, Verdict::kFail);
  EXPECT_EQ(one("[[site]]\nfocus = \"main\"\nignore = \"pool\"\nlive = 300000", server()).verdict,
            Verdict::kPass);
  const GateResult missing = one("[[site]]\nfocus = \"poll\"\nlive = 100000", server());
  EXPECT_EQ(missing.verdict, Verdict::kNone);
  EXPECT_THAT(missing.what, HasSubstr("no stack matches 'poll'"));
  EXPECT_EQ(one("[[site]]\nfocus = \"poll\"\nlive = 1\nmay_be_missing = true", server()).verdict,
            Verdict::kPass);
}

TEST(Verdict, ARowIsAnyOne) {
  const GateResult fail = one("[[row]]\nby = \"module\"\nlive = 250000", server());
  EXPECT_EQ(fail.verdict, Verdict::kFail);
  EXPECT_THAT(names(fail), ElementsAre("server"));
  EXPECT_EQ(one("[[row]]\nby = \"module\"\nlive = 300000", server()).verdict, Verdict::kPass);
  EXPECT_THAT(names(one("[[row]]\nlive = 50000", server())), ElementsAre("cache", "pool"));
  EXPECT_EQ(one("[[row]]\nby = \"module\"\nignore = \"cache\"\nlive = 100000", server()).verdict,
            Verdict::kPass);
}

TEST(Verdict, RowsOfALanguageAreItsLines) {
  Builder builder;
  builder.module("_umath.so");
  const uint32_t make = builder.at("array_empty");
  const uint32_t call = builder.python("_call_with_frames_removed", "<frozen importlib._bootstrap>", 241);
  const uint32_t first = builder.python("<module>", "/v/site-packages/numpy/a.py", 1);
  const uint32_t other = builder.python("<module>", "/v/site-packages/numpy/b.py", 1);
  const uint32_t prices = builder.python("prices", "app.py", 4);
  const uint32_t volumes = builder.python("volumes", "app.py", 6);
  builder.stack({make, prices}, 1000, 300).stack({make, volumes}, 1000, 200);
  builder.stack({first, call, prices}, 1000, 250).stack({other, call, prices}, 1000, 250);
  const Profile& profile = builder.profile();
  EXPECT_EQ(one("[[row]]\nlive = 300000", profile).verdict, Verdict::kPass)
      << "imports have a row for each line";
  EXPECT_THAT(names(one("[[row]]\nlive = 299999", profile)), ElementsAre("prices"));
  EXPECT_THAT(names(one("[[row]]\nnative = true\nlive = 300000", profile)), ElementsAre("array_empty"));
}

TEST(Verdict, EachProcessIsHeldToALimit) {
  Profile profile = server();
  profile.stacks[0].process = "worker 2";
  profile.stacks[1].process = "worker 1";
  const GateResult pass = one("live = 300000", profile);
  EXPECT_EQ(pass.verdict, Verdict::kPass);
  EXPECT_THAT(pass.what, HasSubstr("of 2 processes worker 2 has the most"));
  const GateResult fail = one("live = 299999", profile);
  EXPECT_EQ(fail.verdict, Verdict::kFail);
  EXPECT_THAT(names(fail), ElementsAre("cache"));
  EXPECT_EQ(one("live = 100000\nprocess = \"worker 1\"", profile).verdict, Verdict::kPass);
  EXPECT_EQ(one("alloc_per_iteration = 250\niterations = 2000", profile).estimate->value, 250);
}

TEST(Verdict, OneCountDividesAllThatWasAllocated) {
  const GateResult all = one("allocations_per_iteration = 0.5\niterations = 1000", server());
  EXPECT_EQ(all.verdict, Verdict::kPass);
  EXPECT_EQ(all.estimate->value, 0.5);
  EXPECT_EQ(all.what, "0.5 an iteration");
  const GateResult call =
      one("iterations = 10\n[[site]]\nfocus = \"pool\"\ncalls = 4\nallocations_per_call = 4.9", server());
  EXPECT_EQ(call.verdict, Verdict::kFail);
  EXPECT_EQ(call.estimate->value, 5);
  EXPECT_THAT(names(call), ElementsAre("pool"));
  EXPECT_EQ(one("[[site]]\nfocus = \"pool\"\ncalls = 4\nallocations_per_call = 50", server()).verdict,
            Verdict::kPass);
}

TEST(Verdict, TwoCountsDivideWhatCameBetween) {
  const std::vector<ComparedProfile> runs = {{"few", server(0, 300)}, {"many", server(0, 400)}};
  const auto verdict = [&](const std::string& limits) {
    return judge(check_of("iterations = [10, 60]\n" + limits), runs, {}).at(0);
  };
  // What is there in both runs is in none of them.
  const GateResult fail = verdict("growth_per_iteration = 1999");
  EXPECT_EQ(fail.verdict, Verdict::kFail);
  EXPECT_EQ(fail.estimate->value, 2000);
  EXPECT_THAT(names(fail), ElementsAre("cache"));
  EXPECT_EQ(fail.sites[0].value, 100'000);
  EXPECT_EQ(verdict("growth_per_iteration = 2000").verdict, Verdict::kPass);
  EXPECT_EQ(verdict("allocations_per_iteration = 2").verdict, Verdict::kPass);
  EXPECT_EQ(verdict("[[site]]\nfocus = \"pool\"\ncalls = 1\nallocations_per_call = 0").verdict,
            Verdict::kPass);
  // A limit of the whole is of the second run.
  EXPECT_EQ(verdict("live = 450000").verdict, Verdict::kFail);
}

TEST(Verdict, TwoSampledRunsNeedMoreThanChance) {
  const auto verdict = [](uint64_t more, const std::string& limit) {
    return judge(check_of("iterations = [100, 1100]\ngrowth_per_iteration = " + limit),
                 {{"few", server(65536, 300)}, {"many", server(65536, 300 + more)}}, {})
        .at(0);
  };
  EXPECT_NE(verdict(5, "0").verdict, Verdict::kFail);  // as many as chance has
  EXPECT_EQ(verdict(5, "\"16 KB\"").verdict, Verdict::kPass);
  EXPECT_EQ(verdict(300, "\"4 KB\"").verdict, Verdict::kFail);
  EXPECT_EQ(verdict(0, "100").verdict, Verdict::kNone);  // nobody can tell at this rate
}

TEST(Verdict, ABaselineIsComparedAsDiffDoes) {
  const GateCheck check = check_of("baseline = \"old\"\nfail_on = [\"growth > 50000\", \"growth > 200000\"]");
  const auto results = judge(check, {{"new", server(0, 400)}}, {{"old", server(0, 300)}});
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].verdict, Verdict::kFail);
  EXPECT_EQ(results[0].key, "growth > 50000");
  EXPECT_THAT(names(results[0]), ElementsAre("cache"));
  EXPECT_EQ(results[1].verdict, Verdict::kPass);
  const auto none =
      judge(check_of("baseline = \"old\"\nfail_on = \"peak > 1\""), {{"new", server()}}, {{"old", server()}});
  EXPECT_EQ(none.at(0).verdict, Verdict::kNone);
  EXPECT_THAT(none.at(0).what, HasSubstr("peak_space"));
}

// A limit decides all the same; the warning stands beside it.
TEST(Verdict, ABaselineOfAnotherKindIsSaid) {
  const GateCheck check = check_of("baseline = \"old\"\nfail_on = \"growth > 50000\"");
  Profile ended = server();
  ended.has_ended = true;
  EXPECT_THAT(doubts_of_baseline(check, {{"new", ended}}, {{"old", server()}}),
              ElementsAre(HasSubstr("new is of a program that has ended, and old of one that had not")));
  EXPECT_THAT(doubts_of_baseline(check, {{"new", server()}}, {{"old", server()}}), IsEmpty());
  EXPECT_THAT(doubts_of_baseline(check_of("live = 1"), {{"new", ended}}, {}), IsEmpty());
}

TEST(Verdict, WhatTheFileDoesNotHaveHasNone) {
  const GateResult peak = one("peak = \"1 GB\"", server());
  EXPECT_EQ(peak.verdict, Verdict::kNone);
  EXPECT_THAT(peak.what, HasSubstr("does not have peak_space"));
}

TEST(Verdict, OfFilesByOthersTheValueCounts) {
  Profile profile = server();
  profile.from_memprof = false;
  for (Stack& stack : profile.stacks) {
    stack.values = {100, 100'000, 100, 100'000};
    stack.has_statistics = false;
  }
  const GateResult fail = one("live = 199999", profile);
  EXPECT_EQ(fail.verdict, Verdict::kFail);
  EXPECT_THAT(fail.what, HasSubstr("without an interval"));
  EXPECT_EQ(one("live = 200000", profile).verdict, Verdict::kPass);
  EXPECT_THAT(doubts_of({"x.pb.gz", profile}), ElementsAre(HasSubstr("x.pb.gz: memprof did not write it")));
}

TEST(Verdict, WhatAProfileMissesIsSaid) {
  Profile profile = server();
  EXPECT_THAT(doubts_of({"x", profile}), IsEmpty());
  profile.dropped_samples = 3;
  profile.unseen_processes = 2;
  profile.uncollected_processes = 1;
  EXPECT_THAT(doubts_of({"x", profile}), ElementsAre(HasSubstr("3 samples"), HasSubstr("2 processes ran"),
                                                     HasSubstr("1 processes left")));
}

TEST(GateReport, TheStatusIsThatOfTheWorst) {
  GateReport report{"memprof.toml", {{}}};
  report.checks[0].results.resize(2);
  report.checks[0].results[0].verdict = report.checks[0].results[1].verdict = Verdict::kPass;
  report.checks[0].status = 0;
  EXPECT_EQ(report.status(), 0);
  report.checks[0].results[1].verdict = Verdict::kNone;
  EXPECT_EQ(report.status(), 2);
  report.checks[0].results[0].verdict = Verdict::kFail;
  EXPECT_EQ(report.status(), 1);
  GateReport failed{"memprof.toml", {{}}};
  failed.checks[0].status = 3;
  EXPECT_EQ(failed.status(), 1);
  EXPECT_EQ(failed.count(Verdict::kFail), 1u);
  GateReport lost{"memprof.toml", {{}}};
  lost.checks[0].error = "nothing was recorded";
  EXPECT_EQ(lost.status(), 2);
  EXPECT_STREQ(verdict_name(Verdict::kNone), "none");
}

}  // namespace
}  // namespace memprof::profile
