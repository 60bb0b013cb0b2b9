// SPDX-License-Identifier: Apache-2.0
#include "profile/memory/resident_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr uint64_t kMiB = 1 << 20;

ResidentMemory memory() {
  ResidentMemory m;
  m.total_bytes = 100 * kMiB;
  m.heap_bytes = 60 * kMiB;
  m.files_bytes = 20 * kMiB;
  m.runtime_bytes = 15 * kMiB;
  m.anonymous_bytes = 4 * kMiB;
  m.live_bytes = 50 * kMiB;
  m.absent_bytes = 10 * kMiB;
  m.slack_bytes = 2 * kMiB;
  m.free_bytes = 12 * kMiB;
  m.runtime = static_cast<uint64_t>(ResidentRuntime::kJvm);
  m.state = kResidentFreeKnown;
  return m;
}

TEST(ResidentText, PartsAddUp) {
  EXPECT_TRUE(resident_lines({}, false).empty());
  EXPECT_EQ("", resident_line({}));
  const std::vector<std::string> lines = resident_lines(memory(), false);
  const std::vector<std::string> expected = {
      "Resident:  100.0 MiB (RSS): live heap 50.0 MiB - 10.0 MiB not resident + allocator slack 2.0 "
      "MiB",
      "           + free, kept by the allocator 12.0 MiB + files and static data 20.0 MiB + the JVM's heap "
      "15.0 MiB",
      "           + not explained 11.0 MiB",
      "           (6.0 MiB in the allocator's memory, 5.0 MiB in mappings of unknown origin: memprof run --mmap "
      "shows who maps them)",
      "           fragmentation 33 %: of the allocators' 60.0 MiB in memory 20.0 MiB are not blocks of the "
      "program"};
  EXPECT_EQ(expected, lines);
  EXPECT_EQ(
      "100.0 MiB (heap 40.0 MiB, slack 2.0 MiB, kept free 12.0 MiB, files and static data 20.0 MiB, the "
      "JVM's heap 15.0 MiB, not explained 11.0 MiB)",
      resident_line(memory()));
}

TEST(ResidentText, WhatTheRuntimeCountsIsNotAddedAgain) {
  ResidentMemory m = memory();
  const size_t lines = resident_lines(m, false).size();
  m.js_bytes = 14 * kMiB;
  m.js_used_bytes = 9 * kMiB;
  m.js_live_bytes = 7 * kMiB;
  m.js_code_bytes = kMiB;
  m.js_external_bytes = 3 * kMiB;
  ASSERT_EQ(lines + 1, resident_lines(m, false).size());
  EXPECT_EQ(
      "           V8 counts 14.0 MiB of its heap in memory: live objects 7.0 MiB, garbage 2.0 MiB, room "
      "5.0 MiB; machine code 1.0 MiB of it; its objects keep 3.0 MiB of the blocks",
      resident_lines(m, false).back());
  EXPECT_EQ(11.0 * kMiB, m.unexplained_bytes());
  m.js_young_bytes = kMiB;
  m.js_old_bytes = 10 * kMiB;
  m.js_large_bytes = 3 * kMiB;
  EXPECT_EQ(
      "           V8 counts 14.0 MiB of its heap in memory (spaces: young 1.0 MiB, old 10.0 MiB, large objects "
      "3.0 MiB): live objects 7.0 MiB, garbage 2.0 MiB, room 5.0 MiB; machine code 1.0 MiB of it; its objects "
      "keep 3.0 MiB of the blocks",
      resident_lines(m, false).back());
}

// As of 100 MiB of WebAssembly's memory, or of a resizable ArrayBuffer, which V8 maps and does not count as its heap.
TEST(ResidentText, WhatNodeMapsBesideV8sHeapIsNotThatHeap) {
  ResidentMemory m = memory();
  m.runtime = static_cast<uint64_t>(ResidentRuntime::kV8);
  m.js_bytes = m.runtime_bytes - 4 * kMiB;
  EXPECT_EQ(0u, mapped_buffer_bytes(m)) << "V8's own tables";
  EXPECT_THAT(resident_line(m), HasSubstr("V8's heap 15.0 MiB, not"));
  m.runtime_bytes += 100 * kMiB;
  m.total_bytes += 100 * kMiB;
  m.js_external_bytes = 101 * kMiB;
  EXPECT_THAT(resident_line(m), HasSubstr("V8's heap 11.0 MiB, mapped beside it (WebAssembly, resizable "
                                          "ArrayBuffers) 104.0 MiB, not explained 11.0 MiB"));
  EXPECT_THAT(resident_lines(m, false).back(),
              HasSubstr("keep 101.0 MiB beside it, in blocks and in mappings"));
  m.js_bytes = 0;
  EXPECT_EQ(0u, mapped_buffer_bytes(m)) << "V8 was not asked";
}

// As before Linux 6.7 of a calloc that was only read.
TEST(ResidentText, LessThanNothingIsNotExplainedHasItsReason) {
  ResidentMemory m = memory();
  m.total_bytes -= 60 * kMiB;
  const std::vector<std::string> lines = resident_lines(m, false);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  EXPECT_THAT(
      text,
      HasSubstr(
          "+ not explained -49.0 MiB (6.0 MiB in the allocator's memory; RSS is 55.0 MiB below the sum of "
          "the mappings: pages that were only read, or it changed meanwhile)\n"));
  // However little it is.
  m = memory();
  m.total_bytes -= 5 * kMiB + 1;
  m.heap_bytes -= 6 * kMiB;
  m.files_bytes += 6 * kMiB;
  EXPECT_THAT(resident_line(m), HasSubstr("not explained -1 B: RSS is 1 B below the sum of the mappings"));
}

TEST(ResidentText, WhatAnAllocatorCountsStandsBesideTheSamples) {
  ResidentMemory m = memory();
  const size_t lines = resident_lines(m, false).size();
  EXPECT_EQ("", counting_allocators(m));
  m.state |= kResidentJemalloc;
  m.counted_bytes = 55 * kMiB;
  m.tables_bytes = 3 * kMiB;
  m.counted_age_ns = 999'000'000;
  ASSERT_EQ(lines + 1, resident_lines(m, false).size());
  EXPECT_EQ(
      "           jemalloc counts 55.0 MiB in blocks and 3.0 MiB for its tables; asked 999 ms before, at the "
      "last sample",
      resident_lines(m, false).back());
  m.counted_age_ns = 0;
  EXPECT_THAT(resident_lines(m, false).back(), HasSubstr("its tables; asked then"));
  m.state |= kResidentCounted;
  m.counted_age_ns = 2'400'000'000;
  EXPECT_EQ(
      "           jemalloc counts 55.0 MiB in blocks and 3.0 MiB for its tables (the samples say 52.0 MiB "
      "with slack); by its "
      "count not explained is 8.0 MiB; asked 2.4 s before, at the last sample",
      resident_lines(m, false).back());
  m.state |= kResidentTcmalloc;
  EXPECT_EQ("jemalloc and tcmalloc", counting_allocators(m));
}

TEST(ResidentText, AtThePeakWhatIsNotSplitIsSaid) {
  constexpr auto kHeap = static_cast<double>(60 * kMiB);
  EXPECT_EQ("", resident_at_peak(100 * kMiB, 0, 0, kHeap)) << "of an older version";
  EXPECT_EQ("", resident_at_peak(100 * kMiB, 101 * kMiB, 0, kHeap)) << "damaged";
  EXPECT_EQ("resident then: files and shared memory 10.0 MiB, heap 60.0 MiB, not split 30.0 MiB",
            resident_at_peak(100 * kMiB, 10 * kMiB, 0, kHeap));
  EXPECT_EQ(
      "resident then: files and shared memory 10.0 MiB, free and kept 20.0 MiB, heap 60.0 MiB, not split 10.0 MiB",
      resident_at_peak(100 * kMiB, 10 * kMiB, 20 * kMiB, kHeap));
  EXPECT_EQ("resident then: files and shared memory 10.0 MiB, the rest heap, 20.0 MiB less than its estimate",
            resident_at_peak(50 * kMiB, 10 * kMiB, 0, kHeap));
}

TEST(ResidentText, AnEstimateAboveWhatThereIsIsSaid) {
  ResidentMemory m = memory();
  m.live_bytes = 80 * kMiB;
  m.swap_bytes = kMiB;
  m.state |= kResidentFreeCut | kResidentCut;
  std::string text;
  for (const std::string& line : resident_lines(m, true)) text += line + "\n";
  EXPECT_THAT(text, HasSubstr("(RSS at the end)"));
  EXPECT_THAT(text, HasSubstr("at least 12.0 MiB"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "\n           + not explained -19.0 MiB (5.0 MiB in mappings of unknown origin: memprof run --mmap "
          "shows who maps them; the "
          "heap's estimate is 24.0 MiB above what there is)\n"));
  EXPECT_THAT(
      resident_line(m),
      HasSubstr(", not explained -19.0 MiB: 5.0 MiB in mappings of unknown origin: memprof run --mmap shows "
                "who maps them; the "
                "heap's estimate is 24.0 MiB above what there is)"));
  EXPECT_THAT(text, HasSubstr("fragmentation 0 %"));
  EXPECT_THAT(text, HasSubstr("swapped out: 1.0 MiB\n"));
  EXPECT_THAT(text, HasSubstr("Not all mappings"));
}

TEST(ResidentText, OfAHeapThatTheTimeDidNotReachThereIsNoFigure) {
  ResidentMemory m = memory();
  m.heap_bytes = m.slack_bytes = m.free_bytes = m.anonymous_bytes = 0;
  m.shared_bytes = 5 * kMiB;
  m.state |= kResidentCut | kResidentHeapCut;
  const std::vector<std::string> expected = {
      "Resident:  100.0 MiB (RSS at the end): files and static data 20.0 MiB + shared memory 5.0 MiB",
      "           + 75.0 MiB of heap, stacks and all else (50.0 MiB of live blocks, in memory or not)",
      "           heap, slack, what is kept free, fragmentation and what is not explained: not known: the time for "
      "it ran out"};
  EXPECT_EQ(expected, resident_lines(m, true));
  EXPECT_EQ("100.0 MiB (its parts are not known: the time for them ran out)", resident_line(m));
}

TEST(ResidentText, WhoseTheRestIsIsSaidInTheSameLine) {
  ResidentMemory m = memory();
  const auto text_of = [](const ResidentMemory& of, const std::string& owner) {
    std::string text;
    for (const std::string& line : resident_lines(of, false, false, owner)) text += line + "\n";
    return text;
  };
  EXPECT_THAT(text_of(m, ""),
              HasSubstr("in mappings of unknown origin: memprof run --mmap shows who maps them)"));
  EXPECT_THAT(text_of(m, "Ruby's heap"),
              HasSubstr("in mappings that malloc does not have: Ruby's heap, most likely)"));
  EXPECT_THAT(text_of(m, ""), Not(HasSubstr("in part")));
  ResidentMemory silent = m;
  silent.state = kResidentOtherHeap;
  EXPECT_THAT(text_of(silent, ""),
              HasSubstr("without a sampled block: most likely free, and kept by the allocator)"));
  m.state |= kResidentFreeCut;
  EXPECT_THAT(text_of(m, ""),
              HasSubstr(" in the allocator's memory, whose lists of free blocks were read in part, "));
  // No mappings: the reason stands alone.
  m.total_bytes -= static_cast<uint64_t>(m.unexplained_bytes() - m.unexplained_heap_bytes());
  EXPECT_THAT(text_of(m, ""),
              HasSubstr(" in the allocator's memory, whose lists of free blocks were read in part)\n"));
}

TEST(ResidentText, MappingsThatAreListedAreOfKnownOrigin) {
  ResidentMemory m = memory();
  const auto text_of = [](const ResidentMemory& of) {
    std::string text;
    for (const std::string& line : resident_lines(of, false, true)) text += line + "\n";
    return text;
  };
  EXPECT_THAT(text_of(m), HasSubstr("in mappings without a sampled block: --mmap lists the program's own)"));
  m.heap_bytes -= static_cast<uint64_t>(m.unexplained_heap_bytes());
  EXPECT_THAT(text_of(m), HasSubstr("(11.0 MiB in mappings without a sampled block: --mmap lists"));
  EXPECT_THAT(resident_lines(m, false).back(), Not(HasSubstr("mappings")));
}

TEST(ResidentText, WithoutTheAllocatorsStatisticsNothingIsClaimed) {
  ResidentMemory m = memory();
  m.state = 0;
  m.free_bytes = 0;
  EXPECT_THAT(resident_lines(m, false)[1], HasSubstr("kept by the allocator: unknown +"));
  for (const auto& [state, reason] :
       {std::pair(kResidentNoGlibc, "no glibc, whose lists could be read, is loaded"),
        {kResidentOtherHeap, "an allocator other than glibc's does not say"},
        {kResidentCut, "there was no time to look"}}) {
    m.state = state;
    EXPECT_THAT(resident_lines(m, false)[1],
                HasSubstr(std::string("kept by the allocator: unknown (") + reason + ")"));
  }
  m.state = 0;
  EXPECT_THAT(resident_line(m), Not(HasSubstr("kept")));
  for (const auto& [runtime, name] : {std::pair(ResidentRuntime::kV8, "V8's heap"),
                                      {ResidentRuntime::kGo, "Go's heap"},
                                      {ResidentRuntime::kDotNet, ".NET's heap"},
                                      {ResidentRuntime::kNone, ""}}) {
    m.runtime = static_cast<uint64_t>(runtime);
    EXPECT_EQ(name, runtime_heap_name(m));
  }
}

}  // namespace
}  // namespace memprof::profile
