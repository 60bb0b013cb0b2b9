// SPDX-License-Identifier: Apache-2.0
#include "profile/compare/merge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/formats/collapsed.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/pprof/pprof_writer.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

// A process that was loaded `slide` bytes higher.
Profile process(const std::string& program, uint64_t pid, uint64_t slide, uint64_t live) {
  report_fixture::Builder builder(4096);
  const uint32_t main = builder.at("main", "main.c", 3);
  const uint32_t work = builder.at("work", "work.c", 9);
  builder.stack({work, main}, 1 << 20, live + 2, live);
  Profile profile = builder.profile();
  profile.program = program;
  profile.pid = pid;
  profile.samples = live + 2;
  profile.live_samples = live;
  for (Mapping& mapping : profile.mappings) {
    mapping.start += slide;
    mapping.limit += slide;
  }
  for (Location& location : profile.locations) location.address += slide;
  return profile;
}

Profile merged() {
  Merger merger;
  merger.add(process("make", 10, 0, 1));
  merger.add(process("cc", 11, 0x5000, 3));
  merger.add(process("cc", 12, 0x9000, 4));
  return merger.take();
}

TEST(Merge, OnePlaceOfAFileIsOneLocation) {
  const Profile profile = merged();
  EXPECT_EQ(profile.program, "make");
  EXPECT_EQ(profile.samples, 14u);
  EXPECT_EQ(profile.live_samples, 8u);
  EXPECT_THAT(profile.locations, SizeIs(2));
  EXPECT_THAT(profile.functions, SizeIs(2));
  EXPECT_THAT(profile.mappings, SizeIs(1));
  ASSERT_THAT(profile.stacks, SizeIs(3));
  EXPECT_EQ(profile.stacks[2].process, "cc 12");
}

TEST(Merge, ProcessesOfOneIdAreTold) {
  Merger merger;
  merger.add(process("cc", 11, 0, 1));
  merger.add(process("cc", 11, 0, 1));
  const Profile profile = merger.take();
  EXPECT_EQ(profile.stacks[0].process, "cc 11");
  EXPECT_EQ(profile.stacks[1].process, "cc 11 #2");
}

TEST(Merge, WhatIsMissingIsAddedUp) {
  Merger merger;
  Profile a = process("make", 10, 0, 1);
  a.folded_stacks = 3;
  a.thinned_samples = 4;
  a.muted_bytes = 5;
  a.unseen_processes = 2;
  a.seen_after_ns = 77;
  a.uncollected_processes = 1;
  a.comments = {"mine", "ran without memprof: nginx (pid 12) is static"};
  merger.add(a);
  merger.add(a);
  const Profile profile = read_pprof(write_pprof(merger.take(), {}), "x");
  EXPECT_EQ(profile.muted_bytes, 10u);
  EXPECT_EQ(profile.folded_stacks, 6u);
  EXPECT_EQ(profile.thinned_samples, 8u);
  EXPECT_EQ(profile.unseen_processes, 4u);
  EXPECT_EQ(profile.seen_after_ns, 77u);
  EXPECT_EQ(profile.uncollected_processes, 2u);
  EXPECT_THAT(profile.comments, SizeIs(2));
}

TEST(Merge, RatesAreAddedUp) {
  Merger merger;
  Profile a = process("make", 10, 0, 1);
  a.rates = {{4096, 10, 1}, {8192, 20, 2}};
  Profile b = process("cc", 11, 0, 1);
  b.rate_bytes = 8192;
  b.duration_ns = 40;
  merger.add(a);
  merger.add(b);
  const Profile profile = read_pprof(write_pprof(merger.take(), {}), "x");
  ASSERT_THAT(profile.rates, SizeIs(2));
  EXPECT_EQ(profile.rates[0].rate_bytes, 4096u);
  EXPECT_EQ(profile.rates[0].weight_bytes, 10u);
  EXPECT_EQ(profile.rates[1].rate_bytes, 8192u);
  EXPECT_GE(profile.rates[1].weight_bytes, 20u);
  EXPECT_EQ(profile.rates[1].time_ns, 42u);
}

TEST(Merge, EachFactIsMergedAsTheListSays) {
  Profile a = process("make", 10, 0, 1);
  Profile b = process("cc", 11, 0, 1);
  uint64_t value = 1;
  for (const ProfileFact& fact : kProfileFacts) {
    fact.set(&a, value);
    fact.set(&b, 10 * value);
    ++value;
  }
  b.is_before_end = false;
  Merger one;
  one.add(a);
  const Profile alone = one.take();
  Merger two;
  two.add(a);
  two.add(b);
  const Profile both = two.take();
  value = 1;
  for (const ProfileFact& fact : kProfileFacts) {
    const uint64_t expected = fact.merge == FactMerge::kSum   ? 11 * value
                              : fact.merge == FactMerge::kMax ? (fact.flag != nullptr ? 1 : 10 * value)
                              : fact.merge == FactMerge::kOfOneProcess
                                  ? 0
                                  : fact.flag == &ProfileFacts::has_ended;
    EXPECT_EQ(fact.of(both), expected) << fact.key;
    EXPECT_EQ(fact.of(alone), fact.of(a)) << fact.key;
    ++value;
  }
}

TEST(Merge, PythonCodeIsTheSameByItsFunctionAndLine) {
  const auto python = [](uint64_t pid, int64_t line) {
    report_fixture::Builder b(4096);
    const uint32_t f = b.python("f", "f.py", line);
    const uint32_t main = b.python("main", "m.py", 1);
    b.stack({f, main}, 1 << 20, 3);
    b.profile().pid = pid;
    return b.profile();
  };
  Merger merger;
  merger.add(python(10, 5));
  merger.add(python(11, 5));
  merger.add(python(12, 6));
  const Profile merged = merger.take();
  EXPECT_THAT(merged.locations, SizeIs(3));  // f:5, f:6, main
  EXPECT_THAT(merged.functions, SizeIs(2));
  const Profile read = read_pprof(write_pprof(merged), "merged");
  ASSERT_THAT(read.stacks, SizeIs(3));
  for (const Stack& stack : read.stacks) EXPECT_TRUE(stack.has_statistics);
}

TEST(Merge, EachProcessKeepsItsOwnThroughAFile) {
  const Profile profile = read_pprof(write_pprof(merged()), "merged");
  EXPECT_EQ(profile.samples, 14u);
  ASSERT_THAT(profile.stacks, SizeIs(3));
  ReportOptions options;
  options.by = GroupBy::kProcess;
  const Report report = build_report(profile, options);
  EXPECT_TRUE(report.has_intervals);
  ASSERT_THAT(report.rows, SizeIs(3));
  EXPECT_EQ(report.rows[0].name, "cc 12");
  EXPECT_EQ(report.rows[1].name, "cc 11");
  EXPECT_EQ(report.rows[2].name, "make 10");
  const size_t live = metric_index(Metric::kInuseSpace);
  const Report alone = build_report(process("cc", 12, 0, 4), {});
  EXPECT_DOUBLE_EQ(report.rows[0].self[live].value, alone.totals[live].value);
  EXPECT_DOUBLE_EQ(report.rows[0].self[live].high, alone.totals[live].high);
}

TEST(Merge, FlamesBeginWithTheProcess) {
  EXPECT_THAT(write_collapsed(merged(), Metric::kInuseSpace), HasSubstr("[process cc 11];main;work "));
}

TEST(Merge, CodeInNoFileIsEachProcesssOwn) {
  Merger merger;
  for (const uint64_t pid : {1, 2}) {
    Profile jit = process("node", pid, 0, 1);
    jit.locations[1].mapping = kNoMapping;
    jit.functions[1].name = "of " + std::to_string(pid);
    merger.add(jit);
  }
  const Profile profile = merger.take();
  EXPECT_THAT(profile.locations, SizeIs(3));
  EXPECT_THAT(profile.functions, SizeIs(3));
}

Profile added_up(const std::vector<Profile>& profiles) {
  Merger merger(Processes::kAddedUp);
  for (const Profile& profile : profiles) merger.add(profile);
  return merger.take();
}

TEST(Merge, AddedUpAStackIsOne) {
  const Profile sum = read_pprof(write_pprof(added_up({process("cc", 11, 0, 1), process("cc", 12, 0x5000, 3),
                                                       process("cc", 13, 0x9000, 4)})),
                                 "sum");
  ASSERT_THAT(sum.stacks, SizeIs(1));
  EXPECT_EQ(sum.stacks[0].process, "");
  EXPECT_TRUE(sum.stacks[0].has_statistics);
  EXPECT_EQ(sum.pid, 0u);
  EXPECT_EQ(sum.samples, 14u);
  Accumulator apart;
  for (const uint64_t live : {1, 3, 4}) apart.add(process("cc", 1, 0, live).stacks[0]);
  const Report report = build_report(sum, {});
  for (const Metric metric : kMetrics) {
    const Estimate one = apart.estimate(metric);
    const Estimate& total = report.totals[metric_index(metric)];
    EXPECT_NEAR(total.value, one.value, 1e-6 * one.value);
    EXPECT_NEAR(total.low, one.low, 1e-3 * one.value);
    EXPECT_NEAR(total.high, one.high, 1e-3 * one.value);
  }
}

TEST(Merge, AddedUpRatesMayDiffer) {
  Profile fine = process("cc", 1, 0, 5);
  Profile coarse = process("cc", 2, 0, 5);
  coarse.rate_bytes = 1 << 20;
  for (Stack& stack : coarse.stacks) {
    for (LiveGroup& group : stack.live) group.rate_bytes = coarse.rate_bytes;
  }
  const Profile sum = read_pprof(write_pprof(added_up({fine, coarse})), "sum");
  EXPECT_EQ(sum.rate_bytes, 1u << 20);
  EXPECT_NEAR(estimated_total(sum, Metric::kInuseSpace),
              estimated_total(fine, Metric::kInuseSpace) + estimated_total(coarse, Metric::kInuseSpace), 2);
}

TEST(Merge, AddedUpCodeInNoFileIsTheSameByItsNames) {
  std::vector<Profile> profiles;
  for (const uint64_t pid : {1, 2, 3}) {
    Profile jit = process("node", pid, 0x1000 * pid, 1);
    jit.locations[1].mapping = kNoMapping;
    if (pid == 3) jit.functions[1].name = "another";
    profiles.push_back(jit);
  }
  EXPECT_THAT(added_up(profiles).stacks, SizeIs(2));
}

TEST(Merge, AddedUpNamesMayComeLater) {
  Profile raw = process("cc", 1, 0, 1);
  for (Location& location : raw.locations) location.lines.clear();
  const Profile sum = added_up({raw, process("cc", 2, 0, 1)});
  EXPECT_THAT(sum.stacks, SizeIs(1));
  for (const Location& location : sum.locations) EXPECT_THAT(location.lines, SizeIs(1));
}

TEST(Merge, NothingIsAnEmptyProfile) {
  EXPECT_THAT(Merger().take().stacks, SizeIs(0));
}

}  // namespace
}  // namespace memprof::profile
