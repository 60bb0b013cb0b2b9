// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/report_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "profile/lifetimes/temporary.h"
#include "profile/names/short_name.h"
#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using ::testing::HasSubstr;
using ::testing::Not;

std::string text_of(Builder& b, const TextOptions& options = {}) {
  ReportOptions report_options;
  report_options.skip_empty = true;
  return report_text(build_report(b.profile(), report_options), options);
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// The whole of it, once: what a reader sees.
TEST(ReportText, IsATable) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t insert = b.at("Cache::insert(Key const&)", "/src/cache.cc", 42);
  b.module("libz.so.1");
  const uint32_t inflate = b.at("inflate");
  b.stack({insert, main}, 3 << 20, 2).stack({inflate, main}, 1536, 100, 10).stack({b.at("")}, 24, 1);
  EXPECT_EQ(text_of(b),
            "server (pid 4711), 2023-11-14 22:13:20 UTC, after 12.3 s\n"
            "Rate 0 (every allocation): 103 samples (13 still live), 0 dropped\n"
            "Stacks: 100 % complete (100 % of the bytes); median 2 frames, least 1\n"
            "Live:      6.0 MiB in 13 blocks\n"
            "Allocated: 6.1 MiB in 103 blocks\n"
            "\n"
            "                                  self        cumulative\n"
            "    live   ±      %  blocks  allocated      live       %  function                   file:line\n"
            " 6.0 MiB  0%  99.8%       2    6.0 MiB   6.0 MiB   99.8%  Cache::insert(Key const&)  "
            "/src/cache.cc:42\n"
            "15.0 KiB  0%   0.2%      10  150.0 KiB  15.0 KiB    0.2%  inflate                    libz.so.1\n"
            "    24 B  0%   0.0%       1       24 B      24 B    0.0%  libz.so.1+0x103\n"
            "     0 B       0.0%       0        0 B   6.0 MiB  100.0%  main                       server\n"
            "\n"
            "Every allocation was recorded: the numbers are exact.\n");
}

TEST(ReportText, SaysHowSureItIs) {
  Builder b(512 * 1024);
  b.stack({b.at("f")}, 64, 100);
  b.profile().walks = {99, 1, 0, 0, 0};
  const std::string text = text_of(b);
  EXPECT_THAT(text,
              HasSubstr("Rate 512 KiB: 100 samples (100 still live), 0 dropped\nStacks: 99.0 % complete"));
  EXPECT_THAT(text, HasSubstr("Live:      50.0 MiB (95 %: 4"));
  EXPECT_THAT(text, HasSubstr("± is the larger half"));
  EXPECT_THAT(text,
              HasSubstr("Code that was never sampled: less than 1.5 MiB each (95 %; 3.0 times the rate)."));
}

TEST(ReportText, AnIntervalNarrowerThanItsDigitsIsAShare) {
  Builder b(512);
  b.stack({b.at("f")}, 1024, 1000000);
  const std::string text = text_of(b);
  EXPECT_THAT(text, HasSubstr("Live:      1.1 GiB (95 %: ±0.1%) in 1.2 M blocks (95 %: ±0.1%)"));
}

TEST(ReportText, OneBlockIsABlock) {
  Builder b;
  b.stack({b.at("f")}, 64, 1);
  EXPECT_THAT(text_of(b), HasSubstr("64 B in 1 block\n"));
}

TEST(ReportText, SaysWhatWasDropped) {
  Builder b;
  b.stack({b.at("f")}, 64, 1);
  b.profile().dropped_samples = 7;
  b.profile().dropped_weight_bytes = 3 << 20;
  const std::string text = text_of(b);
  EXPECT_THAT(text, HasSubstr("7 dropped"));
  EXPECT_THAT(text, HasSubstr("The dropped samples stand for 3.0 MiB"));
  EXPECT_THAT(text, Not(HasSubstr("the numbers are exact")));
}

TEST(ReportText, AProgramWithoutASampleGetsTheRateToTry) {
  Builder b(512 * 1024);
  const std::string text = text_of(b);
  EXPECT_THAT(text, HasSubstr("0 samples at a rate of 512 KiB"));
  EXPECT_THAT(text, HasSubstr("less than about 1.5 MiB"));
  EXPECT_THAT(text, HasSubstr("memprof run -r 0 -- CMD"));
  Builder exact;
  EXPECT_THAT(text_of(exact), HasSubstr("No allocation was made"));
}

// A rate does not show what malloc did not allocate, nor what was given back by the end.
TEST(ReportText, ARuntimesOwnHeapGetsItsWayOutAndNoRate) {
  Builder b(512 * 1024);
  b.profile().program = "luajit";
  b.profile().max_resident_bytes = uint64_t{50} << 20;
  b.profile().resident.total_bytes = uint64_t{3} << 20;
  b.profile().resident.files_bytes = uint64_t{3} << 20;
  const std::string text = text_of(b);
  EXPECT_THAT(text, HasSubstr("It had at most 50.0 MiB in memory"));
  EXPECT_THAT(text, HasSubstr("LuaJIT's heap is not malloc's"));
  EXPECT_THAT(text, Not(HasSubstr("-r 0")));
}

TEST(ReportText, WhatIsTemporaryIsAMetric) {
  Builder b;
  b.stack({b.at("parse"), b.at("main")}, 1000, 50, 0).freed_after(2000000);
  b.stack({b.at("load"), b.at("main")}, 1000, 10, 0).freed_after(5000000000);
  b.stack({b.at("keep"), b.at("main")}, 1000, 40);
  set_temporary(12000000, "x", &b.profile());
  ReportOptions options;
  options.metric = Metric::kTemporarySpace;
  options.skip_empty = true;
  const Report report = build_report(b.profile(), options);
  EXPECT_EQ(report.temporary_ns, 10000000u);
  EXPECT_EQ(report.unknown_lifetime_bytes, 0);
  const std::string text = report_text(report);
  EXPECT_THAT(
      text,
      HasSubstr(
          "Temporary: 48.8 KiB in 50 blocks\n           freed within 10 ms: 50.0% of what was allocated"));
  EXPECT_THAT(text, HasSubstr("parse"));
  EXPECT_THAT(text, Not(HasSubstr("load")));
  EXPECT_THAT(text, Not(HasSubstr("unknown time")));
  // Half of what was freed after an unknown time.
  b.profile().stacks[1].lifetimes.clear();
  EXPECT_THAT(report_text(build_report(b.profile(), options)),
              HasSubstr("9.8 KiB were freed after an unknown time"));
  set_temporary(1, "x", &b.profile());
  EXPECT_THAT(report_text(build_report(b.profile(), options)),
              HasSubstr("Nothing was freed within 1 us; --younger TIME asks for a longer time."));
}

TEST(ReportText, WhenAllIsFreedPointsToTheOtherMetric) {
  Builder b;
  b.stack({b.at("f")}, 64, 1, 0);
  const std::string text = text_of(b);
  EXPECT_THAT(text,
              HasSubstr("Nothing was live when the profile was made; what was allocated: memprof report FILE "
                        "--metric alloc_space"));
  EXPECT_THAT(report_text(build_report(b.profile(), {}), {}, "'my file.pb'"), Not(HasSubstr("Nothing")))
      << "a row of zeros";
  ReportOptions options;
  options.skip_empty = true;
  EXPECT_THAT(report_text(build_report(b.profile(), options), {}, "'my file.pb'"),
              HasSubstr("memprof report 'my file.pb' --metric alloc_space"));
  options.filter.focus = Pattern("f");
  EXPECT_THAT(
      report_text(build_report(b.profile(), options)),
      HasSubstr(
          "Nothing of these stacks was live when the profile was made; what was allocated with the same "
          "filter: memprof report FILE --metric alloc_space"));
}

// As of a shell with one sample: the half of the samples that tells the peak is empty.
TEST(ReportText, OfAnEndedProgramWhosePeakHasNoSampleShowsWhatThereIs) {
  Builder b(524288);
  b.stack({b.at("parse")}, 100, 1, 0);
  b.profile().has_metric[metric_index(Metric::kPeakSpace)] = true;
  b.profile().has_metric[metric_index(Metric::kPeakObjects)] = true;
  b.profile().samples = 1;
  b.profile().max_resident_bytes = 3 << 20;
  EXPECT_EQ(Metric::kInuseSpace, default_metric(b.profile())) << "it runs";
  b.profile().has_ended = true;
  ReportOptions options;
  options.skip_empty = true;
  options.metric = default_metric(b.profile());
  EXPECT_EQ(Metric::kAllocSpace, options.metric);
  std::string text = report_text(build_report(b.profile(), options));
  EXPECT_THAT(text,
              HasSubstr("listed instead: what was allocated\n           most resident (VmHWM): 3.0 MiB\n"));
  EXPECT_THAT(text, HasSubstr("parse"));
  EXPECT_THAT(text, Not(HasSubstr("Nothing was live")));
  b.stack({b.at("load")}, 100, 1, 1);
  EXPECT_EQ(Metric::kInuseSpace, default_metric(b.profile()));
  b.profile().has_metric[metric_index(Metric::kPeakSpace)] = false;
  EXPECT_THAT(report_text(build_report(b.profile(), options)), Not(HasSubstr("Peak:")))
      << "of an older library";
}

TEST(ReportText, AProfileByOthersIsShownWithoutIntervalsAndThatIsSaid) {
  Builder b(524288);
  b.profile().from_memprof = false;
  Stack stack;
  stack.locations = {b.at("f")};
  stack.values = {0, 0, 2, 4096};
  b.profile().stacks.push_back(stack);
  b.profile().has_metric = {false, false, true, true};
  const std::string text = text_of(b);
  EXPECT_THAT(text, HasSubstr("Not written by memprof"));
  EXPECT_THAT(text, Not(HasSubstr("95 %")));
  EXPECT_THAT(text, HasSubstr("4.0 KiB  -  100.0%       2          -  4.0 KiB  100.0%  f         server"));
}

TEST(ReportText, FitsTheTerminal) {
  Builder b;
  b.stack({b.at("std::map<std::string, std::vector<int> >::insert(std::pair<std::string, std::vector<int> >)",
                "/a/very/long/path/to/the/sources/of/something/map.h", 1234)},
          64, 1);
  for (const size_t width : {60u, 80u, 90u, 100u, 120u, 400u}) {
    TextOptions options;
    options.width = width;
    for (const std::string& line : lines_of(text_of(b, options))) {
      EXPECT_LE(text_width(line), width) << line;
    }
  }
  TextOptions narrow;
  narrow.width = 100;
  EXPECT_THAT(text_of(b, narrow), HasSubstr("map.h:1234"));
  TextOptions wide;
  wide.width = 400;
  EXPECT_THAT(text_of(b, wide), HasSubstr("std::map<>::insert(std::pair<>)  "));
}

TEST(ReportText, ColoursOnlyWhenWanted) {
  Builder b;
  b.stack({b.at("f")}, 64, 1);
  EXPECT_THAT(text_of(b), Not(HasSubstr("\x1b")));
  TextOptions options;
  options.has_color = true;
  EXPECT_THAT(text_of(b, options), HasSubstr("\x1b[1m"));
}

TEST(ReportText, NamesDoNotSteerTheTerminal) {
  Builder b;
  b.profile().program = "evil\x1b]0;title\x07";
  b.stack({b.at("f\x1b[2J\n")}, 64, 1);
  const std::string text = text_of(b);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("f?[2J?"));
}

TEST(ReportText, CountsTheRowsThatAreNotShown) {
  Builder b;
  b.stack({b.at("f")}, 64, 1).stack({b.at("g")}, 32, 1);
  ReportOptions options;
  options.max_rows = 1;
  EXPECT_THAT(report_text(build_report(b.profile(), options)),
              HasSubstr("1 of 2 rows shown; -n 2 shows all."));
}

TEST(ReportText, CallersAndCallees) {
  Builder b;
  const uint32_t main = b.at("main");
  const uint32_t parse = b.at("parse", "/src/p.cc", 4);
  const uint32_t add = b.at("Tree::add(int)");
  const uint32_t add_all = b.at("Tree::add_all()");
  b.stack({add, parse, main}, 300, 1).stack({add, add_all, main}, 100, 1).stack({main}, 600, 1);
  ReportOptions options;
  options.callers = "Tree::add";
  options.callees = "add_";
  options.has_table = false;
  const std::string text = report_text(build_report(b.profile(), options));
  EXPECT_THAT(text, HasSubstr("\nCallers of Tree::add(int): 400 B live in and below it, 40.0% of the total\n"
                              " live   ±      %  of it  blocks  allocated  caller           place\n"
                              "300 B  0%  30.0%  75.0%       1      300 B  parse            /src/p.cc:4\n"
                              "100 B  0%  10.0%  25.0%       1      100 B  Tree::add_all()  server\n"));
  EXPECT_THAT(text, HasSubstr("\nCallees of Tree::add_all(): 100 B live in"));
  EXPECT_THAT(text, Not(HasSubstr("cumulative"))) << "no table";
  EXPECT_THAT(text, Not(HasSubstr("recursion")));
  options.callers = "Tree";
  EXPECT_THAT(
      report_text(build_report(b.profile(), options)),
      HasSubstr("Callers of 2 functions that match 'Tree': 400 B live in and below them, 40.0% of the "
                "total\n  taken together; the whole name of one takes that alone: Tree::add(int), "
                "Tree::add_all()\n"));
}

TEST(ReportText, AFunctionThatHoldsNothingSaysSo) {
  Builder b;
  b.stack({b.at("f")}, 300, 1, 0).stack({b.at("g")}, 1, 1);
  ReportOptions options;
  options.callers = "f";
  options.has_table = false;
  options.skip_empty = true;
  EXPECT_THAT(report_text(build_report(b.profile(), options)),
              HasSubstr("It holds nothing of inuse_space.\n"));
}

TEST(ReportText, AFocusThatLeavesNothingSaysSo) {
  Builder b;
  b.stack({b.at("f")}, 300, 1);
  ReportOptions options;
  options.filter.focus = Pattern("nowhere");
  for (const bool has_tree : {false, true}) {
    options.has_tree = has_tree;
    options.has_table = !has_tree;
    const std::string text = report_text(build_report(b.profile(), options));
    EXPECT_THAT(text, HasSubstr("Live:      0 B of 300 B total in 0 blocks of 1\n"));
    EXPECT_THAT(text,
                HasSubstr("No stack has a frame that matches 'nowhere' ((?i) ignores case). What there is: "
                          "memprof report FILE\n"));
  }
  options.filter.ignore = Pattern("f");
  EXPECT_THAT(report_text(build_report(b.profile(), options)),
              HasSubstr("--focus and --ignore leave no stack. What there is: memprof report FILE\n"));
}

TEST(ReportText, OfAWideFirstRowTheRateIsSaidThatWouldGiveSevenPercent) {
  Builder few(512 * 1024);
  few.stack({few.at("f")}, 1000, 30).stack({few.at("g")}, 1000, 2);
  // 30 samples stand for 15 MiB, which has 784 samples at 19.6 KiB: 1.96 / sqrt(784) is 7 %.
  EXPECT_THAT(text_of(few),
              HasSubstr("Few samples (32 live), and the first row is within 42 %: -r 16k would make that "
                        "about 7 % (now 512 KiB).\n"));
  // The number of all samples says nothing of those that lived then.
  Builder peak(512 * 1024);
  peak.stack({peak.at("f")}, 1000, 5000, 0);
  Stack& stack = peak.profile().stacks[0];
  stack.peak = stack.allocated;
  stack.peak.samples = 30;
  stack.peak.weight_bytes /= 100;
  stack.peak.weight_count /= 100;
  peak.profile().has_metric[metric_index(Metric::kPeakSpace)] = true;
  peak.profile().has_metric[metric_index(Metric::kPeakObjects)] = true;
  ReportOptions of_peak;
  of_peak.metric = Metric::kPeakSpace;
  EXPECT_THAT(report_text(build_report(peak.profile(), of_peak)),
              HasSubstr("Few samples at the peak, and the first row "));
  Builder at_that(16 * 1024);
  at_that.stack({at_that.at("f")}, 1000, 930);
  EXPECT_THAT(text_of(at_that), HasSubstr("6.4%"));
  EXPECT_THAT(text_of(at_that), Not(HasSubstr("Few samples")));
  Builder very_few(4096);
  very_few.stack({very_few.at("f")}, 100, 1);
  EXPECT_THAT(text_of(very_few), HasSubstr(": -r 0 would make that exact (now 4 KiB)."));
  Builder enough(512 * 1024);
  enough.stack({enough.at("f")}, 1000, 60).stack({enough.at("g")}, 1000, 2);
  EXPECT_THAT(text_of(enough), Not(HasSubstr("Few samples")));
  // Large blocks are exact, however few.
  Builder large(512 * 1024);
  large.stack({large.at("f")}, 100 << 20, 1);
  EXPECT_THAT(text_of(large), Not(HasSubstr("Few samples")));
  // Of blocks of 256 KiB a coarser rate does than of small ones that hold as much: 70 of 107, each with p = 0.1.
  Builder blocks(2048 * 1024);
  blocks.stack({blocks.at("f")}, 256 * 1024, 10);
  EXPECT_THAT(text_of(blocks), HasSubstr(": -r 64k would make that about 7 % (now 2 MiB)."));
  // Of a large block that was sampled for certain the interval is what no sample tells of; a coarser rate tells less.
  Builder lone(64 * 1024);
  lone.stack({lone.at("f")}, 1 << 19, 1, 1).stack({lone.at("f")}, 40'000, 1, 0);
  for (Stack& s : lone.profile().stacks) s.peak = s.allocated;
  lone.profile().has_metric[metric_index(Metric::kPeakSpace)] = true;
  lone.profile().has_metric[metric_index(Metric::kPeakObjects)] = true;
  EXPECT_THAT(report_text(build_report(lone.profile(), of_peak)),
              HasSubstr(": -r 8k would make that about 7 % (now 64 KiB)."));
  Builder exact;
  exact.stack({exact.at("f")}, 1000, 1);
  EXPECT_THAT(text_of(exact), Not(HasSubstr("Few samples")));
}

TEST(ReportText, ColumnsFollowTheMetric) {
  Builder b;
  b.stack({b.at("f")}, 64, 3, 1);
  ReportOptions options;
  options.metric = Metric::kAllocObjects;
  const std::string text = report_text(build_report(b.profile(), options));
  EXPECT_THAT(text, HasSubstr("allocations   ±       %  allocated  live  allocations       %  function"));
  EXPECT_THAT(text, HasSubstr("          3  0%  100.0%      192 B  64 B            3  100.0%  f"));
}

}  // namespace
}  // namespace memprof::profile
