// SPDX-License-Identifier: Apache-2.0
#include "profile/foreign/foreign_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "profile/model/error.h"

namespace memprof::profile {
namespace {

using ::testing::HasSubstr;

TEST(ForeignProfile, IsKnownByWhatItBeginsWith) {
  EXPECT_TRUE(is_foreign("heap_v2/1\n"));
  EXPECT_TRUE(is_foreign("heap profile: 0: 0 [0: 0] @ heapprofile\n"));
  EXPECT_TRUE(is_foreign(R"( {"head":{"callFrame":{},"selfSize":0}})"));
  EXPECT_FALSE(is_foreign(""));
  EXPECT_FALSE(is_foreign("\x1f\x8b"));
  EXPECT_FALSE(is_foreign("[1]"));
}

std::string foreign_error_of(const std::string& text, uint64_t max_model_bytes) {
  try {
    static_cast<void>(read_foreign(text, "x", max_model_bytes));
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

// Few bytes of a file can ask for much memory: one stack in text, one node at the end of a long chain in JSON.
TEST(ForeignProfile, WhatItTakesIsLimited) {
  constexpr uint64_t kRoom = uint64_t{4} << 20;
  std::string text = "heap_v2/1\n";
  for (int i = 1; i <= 20000; ++i) text += "@ " + std::to_string(i) + "\nt*: 1: 1 [0: 0]\n";
  EXPECT_THAT(foreign_error_of(text, kRoom), HasSubstr("too large: reading it would take more memory"));
  EXPECT_EQ(foreign_error_of(text, kRoom << 4), "");

  const auto node = [](int line, const std::string& children) {
    return R"({"callFrame":{"lineNumber":)" + std::to_string(line) + R"(},"selfSize":1,"children":[)" +
           children + "]}";
  };
  std::string leaves = node(0, "");
  for (int i = 1; i < 1000; ++i) leaves += "," + node(i, "");
  std::string chain = leaves;
  for (int i = 0; i < 2000; ++i) chain = R"({"callFrame":{},"selfSize":0,"children":[)" + chain + "]}";
  const std::string json = R"({"head":)" + chain + "}";
  EXPECT_THAT(foreign_error_of(json, kRoom), HasSubstr("too large: reading it would take more memory"));
  EXPECT_EQ(foreign_error_of(json, kRoom << 4), "");
}

}  // namespace
}  // namespace memprof::profile
