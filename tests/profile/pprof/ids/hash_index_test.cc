// SPDX-License-Identifier: Apache-2.0
#include "profile/pprof/ids/hash_index.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(HashIndex, finds_what_was_added) {
  HashIndex index;
  const auto any = [](uint32_t) { return true; };
  EXPECT_FALSE(index.find(0, any));
  for (uint32_t i = 0; i < 10000; ++i) index.add(i * 0x9e3779b97f4a7c15u, i);
  for (uint32_t i = 0; i < 10000; ++i) {
    EXPECT_EQ(index.find(i * 0x9e3779b97f4a7c15u, [i](uint32_t entry) { return entry == i; }), i);
    EXPECT_FALSE(index.find(i * 0x9e3779b97f4a7c15u, [](uint32_t) { return false; }));
  }
}

TEST(HashIndex, entries_of_one_hash_are_told_apart) {
  HashIndex index;
  for (uint32_t i = 0; i < 100; ++i) index.add(7, i);
  for (uint32_t i = 0; i < 100; ++i) {
    EXPECT_EQ(index.find(7, [i](uint32_t entry) { return entry == i; }), i);
  }
  EXPECT_FALSE(index.find(8, [](uint32_t) { return true; }));
}

}  // namespace
}  // namespace memprof::profile
