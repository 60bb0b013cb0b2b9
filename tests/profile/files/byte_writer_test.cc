// SPDX-License-Identifier: Apache-2.0
#include "profile/files/byte_writer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace memprof::profile {
namespace {

TEST(ByteWriter, VarintsHaveTheirLowBitsFirst) {
  ByteWriter out;
  out.varint(0);
  out.varint(127);
  out.varint(300);
  out.varint(UINT64_MAX);
  EXPECT_EQ(out.take(), std::string("\x00\x7f\xac\x02\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 14));
}

TEST(ByteWriter, DoublesAreLittleEndian) {
  ByteWriter out;
  out.real(1.5);
  EXPECT_EQ(out.take(), std::string("\x00\x00\x00\x00\x00\x00\xf8\x3f", 8));
}

TEST(ByteWriter, TextsHaveTheirLengthsAndColumnsDoNot) {
  ByteWriter out;
  out.text("ab");
  out.column(std::vector<int>{1, 2}, [](int row) { return row * 3; });
  EXPECT_EQ(out.take(), std::string("\x02"
                                    "ab\x03\x06",
                                    5));
}

}  // namespace
}  // namespace memprof::profile
