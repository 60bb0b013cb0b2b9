// SPDX-License-Identifier: Apache-2.0
#include "profile/report/output/report_header.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

using report_fixture::Builder;
using ::testing::HasSubstr;
using ::testing::Not;

std::string header_of(Builder& b, const ReportOptions& options = {}) {
  TextWriter writer(TextOptions{});
  write_header(build_report(b.profile(), options), &writer);
  return writer.take();
}

TEST(ReportHeader, ThatItWasKilledByTheOomKillerStandsFirst) {
  Builder b;
  b.profile().duration_ns = 2'000'000'000;
  b.profile().is_oom_killed = true;
  const TextWriter writer{TextOptions()};
  EXPECT_THAT(subject_line(build_report(b.profile()), writer),
              ::testing::EndsWith(", after 2.0 s, killed by the OOM killer"));
  b.profile().memory_limit_bytes = 512 << 20;
  EXPECT_THAT(subject_line(build_report(b.profile()), writer),
              ::testing::EndsWith(
                  ", after 2.0 s, killed by the OOM killer at the memory limit of its group, 512.0 MiB"));
}

TEST(ReportHeader, SaysWhereCallsHaveNoHook) {
  Builder b;
  b.stack({b.at("f")}, 100, 1);
  b.profile().import_foreign = 1;
  EXPECT_THAT(header_of(b),
              HasSubstr("In 1 place libraries call another allocator than the program's malloc"));
  EXPECT_THAT(header_of(b), Not(HasSubstr("could not be led")));
  b.profile().import_refused = 1000;
  b.profile().import_unbound = 234;
  EXPECT_THAT(header_of(b),
              HasSubstr("In 1,234 places calls of malloc, free and their like could not be led"));
}

TEST(ReportHeader, WithoutASampleTheMostThatWasResidentIsThere) {
  Builder b;
  b.profile().max_resident_bytes = 3 << 20;
  EXPECT_THAT(header_of(b), HasSubstr("Process:   most resident (VmHWM): 3.0 MiB\n"));
  b.profile().max_resident_bytes = 0;
  EXPECT_THAT(header_of(b), Not(HasSubstr("VmHWM")));
}

TEST(ReportHeader, SaysWhatTellsTheProcess) {
  Builder b;
  b.profile().program = "chromium";
  b.profile().pid = 12;
  b.profile().told_apart = "--type=renderer";
  TextWriter writer(TextOptions{});
  EXPECT_THAT(subject_line(build_report(b.profile(), {}), writer),
              HasSubstr("chromium --type=renderer (pid 12)"));
  b.profile().pid = 0;  // of several
  EXPECT_THAT(subject_line(build_report(b.profile(), {}), writer), Not(HasSubstr("renderer")));
}

TEST(ReportHeader, SaysWhatIsMissingOfPython) {
  Builder b;
  b.stack({b.at("f")}, 100, 1);
  b.profile().runtimes[0].version = 0x030b;
  b.profile().runtimes[0].objects = 1;
  b.profile().runtimes[0].stacks = 2;
  EXPECT_THAT(header_of(b), Not(HasSubstr("Python")));
  b.profile().runtimes[0].objects = 3;
  EXPECT_THAT(header_of(b),
              HasSubstr("The objects of Python 3.11 that it does not get from malloc are missing below"));
  b.profile().runtimes[0].objects = 1;
  b.profile().runtimes[0].stacks = 4;
  EXPECT_THAT(header_of(b),
              HasSubstr("Python 3.11: stacks have no Python frames, because this interpreter is not laid"));
  b.profile().runtimes[0].version = 0x0310;
  b.profile().runtimes[0].stacks = 3;
  EXPECT_THAT(header_of(b),
              HasSubstr("Python 3.16: stacks have no Python frames, because memprof does not know this"));
}

TEST(ReportHeader, SaysWhichRatesThereWere) {
  Builder b(65536);
  b.stack({b.at("f")}, 100, 1);
  EXPECT_THAT(header_of(b), HasSubstr("Rate 64 KiB: "));
  b.profile().rates = {{16384, 100, 9'000}, {65536, 300, 1'000}};
  EXPECT_THAT(header_of(b), HasSubstr("Rates 16 KiB to 64 KiB, 64 KiB in the end: "));
  EXPECT_THAT(
      header_of(b),
      HasSubstr("The rate changed, and each sample counts by its own: 64 KiB for 75 % of the bytes and "
                "10 % of the time, 16 KiB for 25 % of the bytes and 90 % of the time.\n"));
  EXPECT_THAT(header_of(b), Not(HasSubstr("Budget")));
  for (uint64_t rate = 131072; b.profile().rates.size() < 7; rate *= 2)
    b.profile().rates.push_back({rate, 1, 1});
  EXPECT_THAT(header_of(b), HasSubstr(", and 3 more.\n"));
  b.profile().budget_ppm = 5000;
  b.profile().cpu_ns = 12'340'000'000;
  b.profile().sampling_ns = 55'530'000;
  EXPECT_THAT(header_of(b), HasSubstr("Budget 0.5 % of the CPU time: sampling took 0.45 % of 12.3 s.\n"));
}

// What was recorded wholly only at the end, where a full table made the rate rise before, is an estimate.
TEST(ReportHeader, IsExactOnlyWhereEveryRateWas) {
  Builder b(0);
  b.stack({b.at("f")}, 100, 1);
  b.profile().rates = {{0, 100, 1}, {64, 300, 1}};
  EXPECT_THAT(header_of(b), HasSubstr("Rates 0 B to 64 B, 0 B in the end: "));
}

TEST(ReportHeader, SaysWhatIsMissingOfTheRun) {
  Builder b(0);
  b.stack({b.at("f")}, 100, 1);
  EXPECT_THAT(header_of(b), HasSubstr("Rate 0 (every allocation): "));
  b.profile().folded_stacks = 12345;
  EXPECT_THAT(header_of(b), HasSubstr("12,345 older stacks were shortened, to [older stacks]"));
  b.profile().folded_modules = 3;
  EXPECT_THAT(header_of(b), HasSubstr("The tables of names were full: 3 modules, functions and heaps"));
  b.profile().folded_modules = 0;
  b.profile().folded_stacks = 0;
  b.profile().thinned_samples = 12345;
  EXPECT_THAT(header_of(b), HasSubstr("the rate rose, and 12,345 of the live samples"));
  b.profile().thinned_samples = 0;
  b.profile().muted_bytes = 2048;
  EXPECT_THAT(header_of(b),
              HasSubstr("2.0 KiB not sampled: allocated by signal handlers, or by an allocator internally"));
  EXPECT_THAT(header_of(b), Not(HasSubstr("every allocation")));
  b.profile().muted_bytes = 0;
  EXPECT_THAT(header_of(b), Not(HasSubstr("Seen since")));
  b.profile().seen_after_ns = 90'500'000'000;
  EXPECT_THAT(header_of(b),
              HasSubstr("Seen since the process had run for 90.5 s: what it allocated before is "
                        "not known.\n"));
  b.profile().seen_after_ns = 3 * uint64_t{86400} * 1'000'000'000;
  EXPECT_THAT(header_of(b), HasSubstr("had run for 3 days: "));
  b.profile().unseen_processes = 1;
  b.profile().comments = {"of somebody", "ran without memprof: nginx (pid 12) is statically linked"};
  EXPECT_THAT(header_of(b), HasSubstr("1 process of the run ran without memprof, and is missing below:\n"
                                      "  nginx (pid 12) is statically linked\n"));
  EXPECT_THAT(header_of(b), Not(HasSubstr("somebody")));
  b.profile().unseen_processes = 20;
  b.profile().uncollected_processes = 2;
  EXPECT_THAT(header_of(b), HasSubstr("20 processes of the run ran without memprof, and are missing below:"));
  EXPECT_THAT(header_of(b), HasSubstr("2 processes of the run are missing below: what they recorded could"));
  EXPECT_THAT(header_of(b), Not(HasSubstr("no sample")));
  b.profile().unsampled_processes = 1;
  EXPECT_THAT(header_of(b),
              HasSubstr("1 more process of the run had no sample: it allocated too little for the rate.\n"));
  b.profile().unsampled_processes = 1200;
  EXPECT_THAT(header_of(b), HasSubstr("1,200 more processes of the run had no sample: each allocated too"));
}

TEST(ReportHeader, SaysWhatProcessesWithoutAProfileAllocated) {
  Builder b(1000);
  b.stack({b.at("f")}, 100, 5);
  EXPECT_THAT(header_of(b), Not(HasSubstr("small process")));
  b.profile().small_processes = 1;
  b.profile().small_allocated_bytes = 1024;
  EXPECT_THAT(header_of(b),
              HasSubstr("1 small process of the run, which allocated 1.0 KiB, has no profile; memprof run "
                        "--keep-all.\n"));
  b.profile().small_processes = 1200;
  EXPECT_THAT(
      header_of(b),
      HasSubstr("1,200 small processes of the run, which allocated 1.0 KiB, have no profile; memprof run "));
}

TEST(ReportHeader, SaysHowCompleteStacksAre) {
  Builder b;
  const uint32_t f = b.at("f");
  b.stack({f, f, f}, 100, 7).stack({f}, 100, 2).stack({f, f}, 100, 1);
  b.profile().stacks[1].walk = Walk::kNoRule;
  b.profile().stacks[2].walk = Walk::kDepthLimit;
  b.profile().walks = {7, 1, 0, 0, 2};
  EXPECT_THAT(header_of(b),
              HasSubstr("Stacks: 70.0 % complete (70.0 % of the bytes); median 3 frames, least 1\n"
                        "  cut short: 10.0 % at the depth limit (10.0 % of the bytes), "
                        "20.0 % in code without unwind rules (20.0 % of the bytes)\n"));
}

TEST(ReportHeader, SaysWhatMakesStacksWhole) {
  Builder b;
  b.stack({b.at("f")}, 100, 98);
  Mapping jvm;
  jvm.path = "/usr/lib/jvm/lib/server/libjvm.so";
  b.profile().mappings.push_back(jvm);
  b.profile().walks = {98, 0, 0, 0, 2};
  EXPECT_THAT(
      header_of(b),
      HasSubstr("  Java: the code that it makes at run time has no unwind rules; for whole stacks, start "
                "it with -XX:+PreserveFramePointer"));
  EXPECT_THAT(header_of(b), Not(HasSubstr("MEMPROF_MAX_DEPTH")));
  b.profile().walks = {98, 1, 0, 0, 0, 1};
  EXPECT_THAT(header_of(b), Not(HasSubstr("Java")));
  EXPECT_THAT(header_of(b), HasSubstr("  Deeper stacks are kept whole with a higher MEMPROF_MAX_DEPTH (512"));
  // Not about one in a hundred.
  b.profile().walks = {198, 1, 0, 0, 1};
  EXPECT_THAT(header_of(b), Not(HasSubstr("Java")));
  EXPECT_THAT(header_of(b), Not(HasSubstr("MEMPROF_MAX_DEPTH")));
}

TEST(ReportHeader, NearlyAllStacksAreNotAll) {
  Builder b;
  b.stack({b.at("f")}, 64, 1);
  EXPECT_THAT(header_of(b),
              HasSubstr("Stacks: 100 % complete (100 % of the bytes); median 1 frame, least 1\n"));
  EXPECT_THAT(header_of(b), Not(HasSubstr("cut short")));
  b.profile().walks = {99999, 1, 0, 0, 0};
  EXPECT_THAT(header_of(b), HasSubstr("Stacks: 99.9 % complete"));
  EXPECT_THAT(header_of(b), HasSubstr("cut short: 0.1 % at the depth limit\n"));
  b.profile().walks = {1, 99999, 0, 0, 0};
  EXPECT_THAT(header_of(b), HasSubstr("Stacks: 0.1 % complete"));
}

TEST(ReportHeader, AStackWithoutItsMiddleIsCompleteAndItsShareIsSaid) {
  Builder b;
  const uint32_t f = b.at("f");
  b.stack({f}, 100, 19).stack({f, f}, 300, 81);
  b.profile().stacks[1].walk = Walk::kMiddleLeftOut;
  b.profile().walks = {19, 0, 0, 0, 0, 81};
  EXPECT_THAT(
      header_of(b),
      HasSubstr("Stacks: 100 % complete (100 % of the bytes); median 2 frames, least 1\n"
                "  without their middle: 81.0 % (92.7 % of the bytes); MEMPROF_MAX_DEPTH (1024 at most) "
                "keeps more of them\n"));
  EXPECT_THAT(header_of(b), Not(HasSubstr("cut short")));
}

TEST(ReportHeader, WithAFilterTotalsAreOfTheWhole) {
  Builder b;
  b.stack({b.at("f")}, 100, 1).stack({b.at("g")}, 50, 2, 0).stack({b.at("h")}, 300, 1);
  ReportOptions options;
  options.filter.focus = Pattern("f|g");
  const std::string header = header_of(b, options);
  EXPECT_THAT(header, HasSubstr("Only stacks with a frame that matches 'f|g'; percents are of the total.\n"));
  EXPECT_THAT(header, HasSubstr("Live:      100 B of 400 B total in 1 block of 2\n"));
  EXPECT_THAT(header, HasSubstr("Allocated: 200 B of 500 B total in 3 blocks of 4\n"));
  options.filter.ignore = Pattern("g");
  EXPECT_THAT(header_of(b, options),
              HasSubstr("that matches 'f|g', and without a frame that matches 'g'; percents"));
  options.filter.focus.reset();
  EXPECT_THAT(header_of(b, options), HasSubstr("Only stacks without a frame that matches 'g'; percents"));
}

TEST(ReportHeader, AProfileByOthersSaysNothingOfStacks) {
  Builder b;
  b.profile().from_memprof = false;
  EXPECT_THAT(header_of(b), Not(HasSubstr("Stacks:")));
}

TEST(ReportHeader, NamesTheLargestHeaps) {
  report_fixture::Builder b;
  const uint32_t main = b.at("main");
  for (const char* heap : {"pool:a", "pool:b", "", "pool:c", "pool:d", "pool:e", "pool:f"}) {
    b.stack({main}, 1024 * (b.profile().stacks.size() + 1), 1, 1);
    b.profile().stacks.back().heap = heap;
  }
  const Report report = build_report(b.profile());
  TextWriter writer(TextOptions{});
  write_header(report, &writer);
  EXPECT_THAT(writer.take(),
              testing::HasSubstr("Heaps:     pool:f 7.0 KiB, pool:e 6.0 KiB, pool:d 5.0 KiB, "
                                 "pool:c 4.0 KiB, 2 more (inuse_space); --by heap lists them.\n"));
}

}  // namespace
}  // namespace memprof::profile
