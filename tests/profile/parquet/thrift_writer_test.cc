// SPDX-License-Identifier: Apache-2.0
#include "profile/parquet/thrift_writer.h"

#include <gtest/gtest.h>

#include <cstdint>

namespace memprof::profile {
namespace {

using namespace std::string_literals;

TEST(ThriftWriter, NothingIsAnEnd) {
  EXPECT_EQ(ThriftWriter().take(), "\0"s);
}

TEST(ThriftWriter, FieldsSayHowFarTheyAreApart) {
  ThriftWriter writer;
  writer.int32(1, 1);
  writer.int64(2, -1);
  writer.text(5, "ab");
  writer.boolean(6, true);
  writer.boolean(7, false);
  writer.structure(9, {});
  writer.int32(24, 0);
  EXPECT_EQ(writer.take(), "\x15\x02\x16\x01\x38\x02\x61\x62\x11\x12\x2C\x00\xF5\x00\x00"s);
}

TEST(ThriftWriter, NumbersAreZigzagVarints) {
  const auto written = [](int64_t number) {
    ThriftWriter writer;
    writer.int64(1, number);
    return writer.take().substr(1);
  };
  EXPECT_EQ(written(0), "\0\0"s);
  EXPECT_EQ(written(63), "\x7E\0"s);
  EXPECT_EQ(written(64), "\x80\x01\0"s);
  EXPECT_EQ(written(-65), "\x81\x01\0"s);
  EXPECT_EQ(written(INT64_MAX), "\xFE\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\0"s);
  EXPECT_EQ(written(INT64_MIN), "\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\xFF\x01\0"s);
}

TEST(ThriftWriter, ListsHaveTheirLengthFirst) {
  ThriftWriter writer;
  writer.int32_list(1, {0, 3, 8});
  writer.text_list(2, std::vector<std::string>(16, "x"));
  writer.struct_list(3, {ThriftWriter().take(), ThriftWriter().take()});
  writer.text_list(4, {});
  std::string expected = "\x19\x35\x00\x06\x10\x19\xF8\x10"s;
  for (int i = 0; i < 16; ++i) expected += "\x01x";
  EXPECT_EQ(writer.take(), expected + "\x19\x2C\x00\x00\x19\x08\x00"s);
}

}  // namespace
}  // namespace memprof::profile
