// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/http/server_words.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

TEST(ServerWords, AreTheMessageOfJsonOrTheFirstLine) {
  EXPECT_EQ(server_words(R"({"code":"x","message":"too old"})"), ": too old");
  EXPECT_EQ(server_words(R"({"code":"x"})"), R"(: {"code":"x"})");
  EXPECT_EQ(server_words("no such page\nmore"), ": no such page");
  EXPECT_EQ(server_words(""), "");
}

TEST(ServerWords, AreFew) {
  EXPECT_EQ(server_words(std::string(1000, 'a')), ": " + std::string(160, 'a') + "...");
}

}  // namespace
}  // namespace memprof::cli
