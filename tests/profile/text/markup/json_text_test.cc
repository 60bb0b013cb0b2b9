// SPDX-License-Identifier: Apache-2.0
#include "profile/text/markup/json_text.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace memprof::profile {
namespace {

TEST(JsonText, WhatIsNotUtf8IsReplaced) {
  EXPECT_EQ(json_text("a\"\xff"), "\"a\\\"\xef\xbf\xbd\"");
  EXPECT_EQ(json_to_text(nlohmann::ordered_json{{"b", "\xff"}, {"a", 1}}),
            "{\"b\":\"\xef\xbf\xbd\",\"a\":1}");
}

TEST(JsonText, LevelsAreIndentedWhereAsked) {
  EXPECT_EQ(json_to_text(nlohmann::json{{"a", 1}}), "{\"a\":1}");
  EXPECT_EQ(json_to_text(nlohmann::json{{"a", 1}}, 2), "{\n  \"a\": 1\n}");
}

TEST(JsonText, WhatIsNoJsonThrowsOrIsNull) {
  EXPECT_EQ(json_from_text("[1, {}]"), nlohmann::json::array({1, nlohmann::json::object()}));
  EXPECT_THROW(json_from_text("{"), nlohmann::json::exception);
  EXPECT_THROW(json_from_text(""), nlohmann::json::exception);
  EXPECT_EQ(json_or_null("{\"a\":2}").at("a"), 2);
  EXPECT_TRUE(json_or_null("{\"a\":2").is_null());
}

TEST(JsonText, EstimatesAreRoundedOnce) {
  EXPECT_EQ(json_rounded(2.5), 3);
  EXPECT_EQ(json_rounded(-1e30), -9200000000000000000);
}

}  // namespace
}  // namespace memprof::profile
