// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/packed_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "profile/files/base64.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/pprof/pprof_writer.h"
#include "tests/profile/pprof/many_statistics.h"
#include "tests/profile/sample_profile.h"

namespace memprof::profile {
namespace {

struct Unpacked {
  bool is_whole = true;
  unsigned bits = 0;
  std::map<uint64_t, StackStatistics> stacks;
};

Unpacked unpacked(const std::vector<std::string>& comments) {
  Unpacked all;
  for (const std::string& comment : comments) {
    all.is_whole = unpack_statistics(comment,
                                     [&](unsigned bits, uint64_t id, const StackStatistics& own) {
                                       all.bits = bits;
                                       EXPECT_TRUE(all.stacks.emplace(id, own).second);
                                     }) &&
                   all.is_whole;
  }
  return all;
}

void expect_same(const StackStatistics& a, const StackStatistics& b) {
  EXPECT_EQ(a.walk, b.walk);
  EXPECT_EQ(numbers(a.allocated), numbers(b.allocated));
  EXPECT_EQ(numbers(a.peak), numbers(b.peak));
  EXPECT_EQ(numbers(a.freed), numbers(b.freed));
  EXPECT_DOUBLE_EQ(a.lifetime_ns, b.lifetime_ns);
  ASSERT_EQ(a.lifetimes.size(), b.lifetimes.size());
  for (size_t i = 0; i < a.lifetimes.size(); ++i) {
    EXPECT_EQ(a.lifetimes[i].lifetime_class, b.lifetimes[i].lifetime_class);
    EXPECT_EQ(a.lifetimes[i].samples, b.lifetimes[i].samples);
    EXPECT_EQ(a.lifetimes[i].size_bytes, b.lifetimes[i].size_bytes);
    EXPECT_EQ(a.lifetimes[i].weight_bytes, b.lifetimes[i].weight_bytes);
    EXPECT_EQ(a.lifetimes[i].weight_count, b.lifetimes[i].weight_count);
  }
  for (const auto births : {&StackStatistics::births, &StackStatistics::load_births}) {
    ASSERT_EQ((a.*births).size(), (b.*births).size());
    for (size_t i = 0; i < (a.*births).size(); ++i) {
      EXPECT_EQ((a.*births)[i].part, (b.*births)[i].part);
      EXPECT_EQ((a.*births)[i].samples, (b.*births)[i].samples);
      EXPECT_EQ((a.*births)[i].weight_bytes, (b.*births)[i].weight_bytes);
      EXPECT_EQ((a.*births)[i].weight_count, (b.*births)[i].weight_count);
    }
  }
}

TEST(PackedStatistics, WhatIsPackedComesBack) {
  const std::vector<IdentifiedStatistics> stacks = many(20000);
  const std::vector<std::string> comments = pack_statistics(stacks, kTestRate);
  size_t characters = 0;
  for (const std::string& comment : comments) {
    characters += comment.size();
    EXPECT_LT(comment.size(), 65536u);  // the limit of services
  }
  EXPECT_LT(static_cast<double>(characters) / 20000, 20);  // a comment for each took 250 and more
  const Unpacked all = unpacked(comments);
  EXPECT_TRUE(all.is_whole);
  ASSERT_EQ(all.stacks.size(), stacks.size());
  for (const IdentifiedStatistics& stack : stacks) {
    expect_same(all.stacks.at(short_id(stack.id, all.bits)), stack.statistics);
  }
}

// Version 1, which is not written any more: each number stands there, and nothing is compressed.
constexpr char kOfBefore[] =
    "#memprof.stacks version=1 bits=23 data="
    "BAS6F4AggIACkCeAgASAgASAgASAgAQBAQEB+Nz5AZ+3X7SYkwGXhA4AAAAAAgMEBQ8BAQEBAQEBBQEBAaJ1f9bYS9s6JEG+"
    "YqWhJ5prQHpMGx4A"
    "/iOOrIui/0DLG1GB7JRFQIAgMFD6VFVAAEEwUPpUVUBAQAFIARgAYKD0qaqA/0BgoPSpqoA/QICAAms/JKdPFQJBaz8kp08VEkD8R/"
    "wLANZ+SE6f"
    "KvxA1n5ITp8qDECQJxHviY+/TgBBpg8jMfusOkABSIwWACLeEx9/"
    "ZP9Apg8jMfusOUACAAAABnFQAQwG3IwBWG7ESPEBBkMCAQEBBAI79AJIQa0y"
    "QgUHZyvlSJlXHEMAAaoKhEeqCoRBAAHXp6JH16ciQAQB8vOER2l7WUE=";

TEST(PackedStatistics, Version1IsRead) {
  const Unpacked all = unpacked({kOfBefore});
  EXPECT_TRUE(all.is_whole);
  EXPECT_EQ(all.bits, 23u);
  ASSERT_EQ(all.stacks.size(), 4u);
  const StackStatistics& first = all.stacks.begin()->second;
  EXPECT_EQ(first.allocated.samples, 15u);
  EXPECT_EQ(first.allocated.size_bytes, 15u * 3002);
  EXPECT_NEAR(first.allocated.weight_bytes, 15 * 3002 / -std::expm1(-3002.0 / 65536), 0.01);
  EXPECT_EQ(first.peak.size_bytes, 15010u);
  EXPECT_EQ(first.peak.weight_bytes, 662893.6481387167);
  double live = 0;
  uint64_t freed = 0;
  for (const auto& [id, own] : all.stacks) {
    freed += own.freed.samples;
    for (const Birth& birth : own.births) live += birth.weight_bytes;
  }
  EXPECT_EQ(freed, 6u);
  EXPECT_NEAR(live, 822'393, 1);
}

// Births are the last column; files of before lack it.
TEST(PackedStatistics, BirthsMayBeMissing) {
  const std::string prefix = std::string(kOfBefore).substr(0, std::string(kOfBefore).find("data=") + 5);
  const std::string bytes = *from_base64(std::string_view(kOfBefore).substr(prefix.size()));
  constexpr size_t kBirths = 4 + 5 * 10;  // a count for each of four stacks, and five births
  const std::string without = bytes.substr(0, bytes.size() - kBirths);
  const Unpacked all = unpacked({prefix + base64(without)});
  EXPECT_TRUE(all.is_whole);
  EXPECT_EQ(all.stacks.size(), 4u);
  // One part of the run too many, a part that is none, and no samples.
  for (const char* damage :
       {"\x11\x01\x01\x01", "\x01\x01\x01\x01\x10\x01........", "\x01\x01", "\x01\x01\x01\x01\x02\x01...."}) {
    EXPECT_FALSE(unpacked({prefix + base64(without + damage)}).is_whole) << damage;
  }
}

TEST(PackedStatistics, WhatFollowsFromOtherNumbersTakesNoRoom) {
  Stack alike;
  add_samples(alike.allocated, 64, 10);
  Stack other = alike;
  alike.freed = other.freed = alike.allocated;
  const double bytes = alike.freed.weight_bytes / 10;
  const double blocks = alike.freed.weight_count / 10;
  alike.lifetimes = {{0, 3, 4, 4 * 64, 4 * bytes, 4 * blocks}, {0, 9, 6, 6 * 64, 6 * bytes, 6 * blocks}};
  other.lifetimes = {{0, 3, 4, 4 * 60, 4.5 * bytes, 4 * blocks},
                     {0, 9, 6, 640 - 240, 5.5 * bytes, 6 * blocks}};
  alike.births = {{2, 3, 3 * bytes, 3 * blocks}};
  other.births = {{2, 3, 2 * bytes, 3 * blocks}};
  const auto size = [](const Stack& stack) {
    const auto comments = pack_statistics({{1, as_packed(stack, kTestRate)}}, kTestRate);
    return comments.at(0).size();
  };
  EXPECT_LT(size(alike) + 30, size(other));
  for (const Stack& stack : {alike, other}) {
    const StackStatistics once = as_packed(stack, kTestRate);
    const Unpacked all = unpacked(pack_statistics({{1, once}}, kTestRate));
    ASSERT_TRUE(all.is_whole);
    expect_same(all.stacks.begin()->second, once);
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_NEAR(once.lifetimes[i].weight_bytes, stack.lifetimes[i].weight_bytes,
                  1e-6 * stack.lifetimes[i].weight_bytes);
      EXPECT_EQ(once.lifetimes[i].size_bytes, stack.lifetimes[i].size_bytes);
    }
    EXPECT_NEAR(once.births[0].weight_bytes, stack.births[0].weight_bytes,
                1e-6 * stack.births[0].weight_bytes);
  }
}

TEST(PackedStatistics, NearlyNothingIsLost) {
  Stack stack;
  add_samples(stack.allocated, 64, 10);
  add_samples(stack.freed, 64, 4);
  stack.lifetime_ns = 12345678 * stack.freed.weight_count;
  const StackStatistics once = as_packed(stack, kTestRate);
  EXPECT_DOUBLE_EQ(once.allocated.weight_bytes, stack.allocated.weight_bytes);
  EXPECT_NEAR(once.lifetime_ns, stack.lifetime_ns, 0.0005 * stack.lifetime_ns);
  Stack again;
  again.allocated = once.allocated;
  again.freed = once.freed;
  again.lifetime_ns = once.lifetime_ns;
  expect_same(as_packed(again, kTestRate), once);
  for (const double lifetime : {0.0, 0.4, 1.0, 1e18, 1e300}) {
    again.lifetime_ns = lifetime * again.freed.weight_count;
    Stack second = again;
    second.lifetime_ns = as_packed(again, kTestRate).lifetime_ns;
    EXPECT_DOUBLE_EQ(as_packed(second, kTestRate).lifetime_ns, second.lifetime_ns) << lifetime;
  }
}

TEST(PackedStatistics, IdsAreAsLongAsTheyMustBe) {
  std::vector<IdentifiedStatistics> stacks = many(3);
  stacks[0].id = 0x1234'5678'9abc'def0;
  stacks[1].id = 0x1234'5678'9abc'def1;
  const Unpacked close = unpacked(pack_statistics(stacks, kTestRate));
  EXPECT_EQ(close.stacks.size(), 3u);
  EXPECT_EQ(close.bits, 64u);
  stacks[1].id = 0x9234'5678'9abc'def1;
  EXPECT_LT(unpacked(pack_statistics(stacks, kTestRate)).bits, 24u);
  EXPECT_TRUE(pack_statistics({}, kTestRate).empty());
}

// Profiles that another tool merged have the comments of all.
TEST(PackedStatistics, AreReadBesideThoseOfOneStackEach) {
  const Profile profile = named_profile();
  const Profile again = read_pprof(write_pprof(profile), "x");
  for (const Stack& stack : again.stacks) EXPECT_TRUE(stack.has_statistics);
  EXPECT_THAT(write_pprof(profile, {false}), testing::HasSubstr("#memprof.stacks version=2"));
  EXPECT_THAT(write_pprof(profile, {false}), testing::Not(testing::HasSubstr("#memprof.stack ")));
}

}  // namespace
}  // namespace memprof::profile
