// SPDX-License-Identifier: Apache-2.0
#include "profile/text/markup/csv_text.h"

#include <gtest/gtest.h>

#include <string>

namespace memprof::profile {
namespace {

TEST(CsvText, AFieldIsInQuotesOnlyWhereItMustBe) {
  EXPECT_EQ(csv_field("insert"), "insert");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("map<int, int>"), "\"map<int, int>\"");
  EXPECT_EQ(csv_field("operator\"\"_s"), "\"operator\"\"\"\"_s\"");
  EXPECT_EQ(csv_field("a\nb"), "\"a\nb\"");
  EXPECT_EQ(csv_field("a\rb"), "\"a\rb\"");
  EXPECT_EQ(csv_field("Größe"), "Größe");
}

TEST(CsvText, WhatReadersRefuseIsReplaced) {
  EXPECT_EQ(csv_field(std::string("a\0b", 3)),
            "a\xEF\xBF\xBD"
            "b");
  EXPECT_EQ(csv_field("\xc0\xaf"), "\xEF\xBF\xBD\xEF\xBF\xBD") << "an overlong one";
  EXPECT_EQ(csv_field("a\xff,"), "\"a\xEF\xBF\xBD,\"");
}

TEST(CsvText, ALineEndsWithALineFeed) {
  EXPECT_EQ(csv_line({"a", "", "b,c"}), "a,,\"b,c\"\n");
  EXPECT_EQ(csv_line({"a"}), "a\n");
}

}  // namespace
}  // namespace memprof::profile
