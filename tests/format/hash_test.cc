// SPDX-License-Identifier: Apache-2.0
#include "format/hash.h"

#include <gtest/gtest.h>

#include <set>

namespace memprof {
namespace {

// The published values: files have them.
TEST(Hash, Fnv1aIsTheKnownOne) {
  EXPECT_EQ(0xcbf29ce484222325u, Fnv1a().value());
  EXPECT_EQ(0xaf63dc4c8601ec8cu, hash_bytes("a", 1));
  EXPECT_EQ(0x85944171f73967e8u, hash_bytes("foobar", 6));
  Fnv1a word;
  word.word(0x7261626f6f66);  // "foobar", little-endian, and two zeros
  EXPECT_EQ(hash_bytes("foobar\0", 8), word.value());
}

TEST(Hash, RowsOfWordsTogetherAreTheRowsAlone) {
  Fnv1a together[3];
  Fnv1a alone[3];
  for (uint64_t i = 0; i < 50; ++i) {
    const uint64_t words[3] = {i, i * kGolden, ~i};
    Fnv1a::add_words(together, words);
    for (size_t row = 0; row < 3; ++row) {
      alone[row].word(words[row]);
    }
  }
  for (size_t row = 0; row < 3; ++row) {
    EXPECT_EQ(alone[row].value(), together[row].value());
  }
}

// The step that a row was to one hash is the step that it is to each hash with the same low byte, and to no other.
TEST(Hash, ARowIsAStepForEachLowByte) {
  const char row[] = "a row of bytes that many stacks have";
  const uint64_t factor = Fnv1a::factor_of(sizeof(row));
  Fnv1a::Step steps[256];
  bool known[256] = {};
  size_t used = 0;
  std::set<uint64_t> sums;
  for (uint64_t i = 0; i < 4096; ++i) {
    Fnv1a hash;
    hash.word(i);
    const uint32_t low = hash.low_byte();
    EXPECT_EQ(hash.value() % 256, low);
    Fnv1a after = hash;
    after.bytes(row, sizeof(row));
    if (!known[low]) {
      known[low] = true;
      steps[low] = Fnv1a::step(hash, after, factor);
      sums.insert(steps[low].sum);
      continue;
    }
    ++used;
    hash.apply(steps[low]);
    EXPECT_EQ(after.value(), hash.value()) << i;
  }
  EXPECT_GE(used, 4096u - 256u);
  EXPECT_GT(sums.size(), 100u);
}

TEST(Hash, ARowOfWordsDependsOnItsOrder) {
  std::set<uint64_t> seen;
  for (uint64_t a = 0; a < 100; ++a) {
    for (uint64_t b = 0; b < 100; ++b) {
      seen.insert(hash_with(hash_with(2, a), b));
    }
  }
  EXPECT_EQ(10000u, seen.size());
}

}  // namespace
}  // namespace memprof
