// SPDX-License-Identifier: Apache-2.0
#include "profile/foreign/heap_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "profile/model/error.h"
#include "profile/model/metric.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;

constexpr char kHeapMap[] =
    "\nMAPPED_LIBRARIES:\n"
    "00400000-00500000 r-xp 00001000 08:01 77 /opt/my server\n"
    "00500000-00600000 rw-p 00101000 08:01 77 /opt/my server\n"
    "build=/opt\n"
    "7f0000000000-7f0000100000 r-xp 00000000 08:01 78 /usr/lib/libjemalloc.so.2\n";

double value(const Profile& profile, size_t stack, Metric metric) {
  return profile.stacks.at(stack).values[metric_index(metric)];
}

std::string text_error_of(const std::string& text) {
  try {
    read_heap_text(text, "x.heap");
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(HeapText, WhatTcmallocWritesOfEveryAllocation) {
  const Profile profile = read_heap_text(
      std::string("heap profile:      3:     1048 [    30:    10480] @ heapprofile\n"
                  "     1:     1024 [    10:    10240] @ 0x00401001 0x00402001\n"
                  "     2:       24 [    20:      240] @ 0x00403001 0x00402001 0x999999999\n") +
          kHeapMap,
      "x.heap");
  ASSERT_EQ(profile.stacks.size(), 2u);
  EXPECT_EQ(value(profile, 0, Metric::kInuseSpace), 1024);
  EXPECT_EQ(value(profile, 0, Metric::kInuseObjects), 1);
  EXPECT_EQ(value(profile, 1, Metric::kAllocSpace), 240);
  EXPECT_EQ(value(profile, 1, Metric::kAllocObjects), 20);
  EXPECT_EQ(profile.rate_bytes, 0u);
  EXPECT_EQ(profile.program, "my server");
  EXPECT_FALSE(profile.from_memprof);
  ASSERT_EQ(profile.mappings.size(), 2u);  // those that can be executed
  EXPECT_EQ(profile.mappings[0].file_offset, 0x1000u);
  EXPECT_EQ(profile.mappings[0].path, "/opt/my server");
  const Location& leaf = profile.locations[profile.stacks[0].locations[0]];
  EXPECT_EQ(leaf.address, 0x401000u);  // of the call, not behind it
  EXPECT_EQ(leaf.mapping, 0u);
  EXPECT_EQ(profile.stacks[1].locations[1], profile.stacks[0].locations[1]);
  EXPECT_EQ(profile.locations[profile.stacks[1].locations[2]].mapping, kNoMapping);
}

TEST(HeapText, WhatWasSampledIsScaledUp) {
  const double scale = 1 / (1 - std::exp(-1024.0 / 2048.0));
  for (const char* kind : {"heap_v2/2048", "heapz_v2/2048", "heap/4096"}) {
    const Profile profile = read_heap_text(std::string("heap profile: 4: 4096 [4: 4096] @ ") + kind +
                                               "\n4: 4096 [4: 4096] @ 0x401001\n" + kHeapMap,
                                           "x.heap");
    EXPECT_EQ(value(profile, 0, Metric::kInuseSpace), std::round(4096 * scale)) << kind;
    EXPECT_EQ(value(profile, 0, Metric::kInuseObjects), std::round(4 * scale)) << kind;
    EXPECT_EQ(profile.rate_bytes, 2048u) << kind;
  }
}

TEST(HeapText, WhatJemallocWrites) {
  const Profile profile = read_heap_text(std::string("heap_v2/1\n"
                                                     "  t*: 3: 1048 [0: 0]\n"
                                                     "  t0: 3: 1048 [0: 0]\n"
                                                     "@ 0x7f0000000101 0x401001 0x402001\n"
                                                     "  t*: 1: 1024 [0: 0]\n"
                                                     "  t0: 1: 1024 [0: 0]\n"
                                                     "@ 0x7f0000000201 0x401001 0x402001\n"
                                                     "  t*: 2: 24 [0: 0]\n"
                                                     "  t0: 2: 24 [0: 0]\n") +
                                             kHeapMap,
                                         "x.heap");
  // The allocator's own frames are no difference.
  ASSERT_EQ(profile.stacks.size(), 1u);
  EXPECT_EQ(profile.stacks[0].locations.size(), 2u);
  EXPECT_EQ(value(profile, 0, Metric::kInuseSpace), 1048);
  EXPECT_EQ(value(profile, 0, Metric::kInuseObjects), 3);
  EXPECT_TRUE(profile.has_metric[metric_index(Metric::kInuseSpace)]);
  EXPECT_FALSE(profile.has_metric[metric_index(Metric::kAllocSpace)]);  // it was not told to count that
}

TEST(HeapText, AProfileWithoutStacksOrMapIsEmpty) {
  EXPECT_TRUE(read_heap_text("heap_v2/524288\n  t*: 0: 0 [0: 0]\n", "x").stacks.empty());
  EXPECT_TRUE(read_heap_text("heap profile: 0: 0 [0: 0] @ heapprofile\r\n\r\n", "x").mappings.empty());
}

TEST(HeapText, DamageIsToldWithItsLine) {
  EXPECT_THAT(text_error_of("heap_v2/\n"), HasSubstr("x.heap:1: a rate is missing"));
  EXPECT_THAT(text_error_of("heap_v2/99999999999999999999999\n"), HasSubstr("x.heap:1: a rate is missing"));
  EXPECT_THAT(text_error_of("heap profile: 1: 2 [3]\n"), HasSubstr("x.heap:1: the first line"));
  EXPECT_THAT(text_error_of("heap profile: 0: 0 [0: 0] @ cpu\n"), HasSubstr("does not know: 'cpu'"));
  EXPECT_THAT(text_error_of("heap profile: 0: 0 [0: 0] @ heap_v2/x\n"),
              HasSubstr("the sampling rate is no number"));
  const std::string head = "heap profile: 0: 0 [0: 0] @ heapprofile\n";
  EXPECT_THAT(text_error_of(head + "1: 2 [1: 2]\n"), HasSubstr("x.heap:2: a stack is missing"));
  EXPECT_THAT(text_error_of(head + "1: 2 [1: 2] @ 0x12 zz\n"), HasSubstr("x.heap:2: a stack has an address"));
  EXPECT_THAT(text_error_of("heap_v2/1\n@ 0x12\n  t*: 1: [0: 0]\n"), HasSubstr("x.heap:3: the values"));
  std::string deep = head + "1: 2 [1: 2] @";
  for (int i = 0; i < 5000; ++i) deep += " 0x1234";
  EXPECT_THAT(text_error_of(deep), HasSubstr("a stack of more than 4096 frames"));
}

}  // namespace
}  // namespace memprof::profile
