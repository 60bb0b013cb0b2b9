// SPDX-License-Identifier: Apache-2.0
#include "profile/parquet/run_lengths.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "tests/profile/parquet/parquet_read.h"

namespace memprof::profile {
namespace {

using namespace std::string_literals;

std::string runs_of(const std::vector<uint32_t>& values, unsigned width) {
  return run_lengths(values.data(), values.size(), width);
}

TEST(RunLengths, TheExampleOfTheSpecification) {
  EXPECT_EQ(runs_of({0, 1, 2, 3, 4, 5, 6, 7}, 3), "\x03\x88\xC6\xFA"s);
}

TEST(RunLengths, EqualValuesAreARun) {
  EXPECT_EQ(runs_of(std::vector<uint32_t>(10, 4), 3), "\x14\x04"s);
  EXPECT_EQ(runs_of(std::vector<uint32_t>(100, 0x123), 9), "\xC8\x01\x23\x01"s);
  EXPECT_EQ(runs_of({}, 1), "");
}

// What is not a whole group in front of a run is filled up from it.
TEST(RunLengths, ARunGivesTheGroupBeforeIt) {
  std::vector<uint32_t> values = {1, 0, 1};
  values.insert(values.end(), 20, 1);
  EXPECT_EQ(runs_of(values, 1), "\x03\xFD\x1E\x01"s);
  values.resize(3 + 12);  // seven are left after five
  EXPECT_EQ(runs_of(values, 1), "\x05\xFD\x7F"s);
}

TEST(RunLengths, BitWidths) {
  EXPECT_EQ(bit_width(0), 1u);
  EXPECT_EQ(bit_width(1), 1u);
  EXPECT_EQ(bit_width(2), 2u);
  EXPECT_EQ(bit_width(255), 8u);
  EXPECT_EQ(bit_width(256), 9u);
  EXPECT_EQ(bit_width(UINT32_MAX), 32u);
}

TEST(RunLengths, WhatIsWrittenIsReadBack) {
  std::mt19937 random(7);
  for (int round = 0; round < 300; ++round) {
    const unsigned width = 1 + random() % 32;
    std::vector<uint32_t> values;
    const size_t count = random() % 200;
    while (values.size() < count) {
      const auto value = static_cast<uint32_t>(random() & ((uint64_t{1} << width) - 1));
      values.insert(values.end(), random() % 3 == 0 ? random() % 40 : 1, value);
    }
    EXPECT_EQ(
        testing_parquet::read_runs(testing_parquet::Bytes(runs_of(values, width)), width, values.size()),
        values);
  }
}

}  // namespace
}  // namespace memprof::profile
