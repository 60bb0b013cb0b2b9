// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/scrape/listen_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

std::string parsed(const std::string& text) {
  const HttpAddress address = parse_listen_address(text);
  return address.address + " " + std::to_string(address.port);
}

std::string failure_of(const std::string& text) {
  try {
    return parsed(text);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status(), kBadInput);
    return failure.what();
  }
}

TEST(ListenAddress, APortAloneIsOfThisMachine) {
  EXPECT_EQ(parsed("4041"), "127.0.0.1 4041");
  EXPECT_EQ(parsed("0"), "127.0.0.1 0");
  EXPECT_EQ(parsed("localhost:4041"), "127.0.0.1 4041");
  EXPECT_EQ(parsed("10.0.0.7:65535"), "10.0.0.7 65535");
  EXPECT_EQ(parsed("[::1]:4041"), "::1 4041");
}

TEST(ListenAddress, WhatIsWrongIsSaid) {
  using ::testing::HasSubstr;
  for (const char* text :
       {"", "x", "65536", "-1", "127.0.0.1", "127.0.0.1:", "4041x", "[::1]", " 4041", "+1"}) {
    EXPECT_THAT(failure_of(text), HasSubstr("'" + std::string(text) + "' has no port from 0 to 65535"))
        << text;
  }
  EXPECT_THAT(failure_of(":4041"),
              HasSubstr("has no address; give 4041 for this machine alone, or 0.0.0.0:4041"));
  EXPECT_THAT(failure_of("::1:4041"), HasSubstr("in brackets"));
  EXPECT_THAT(failure_of("[::1:4041"), HasSubstr("in brackets"));
}

}  // namespace
}  // namespace memprof::cli
