// SPDX-License-Identifier: Apache-2.0
#include "memprof/serve/host_names.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

void expect(const HostNames& names, bool are_named, const std::vector<std::string>& hosts) {
  for (const std::string& host : hosts) EXPECT_EQ(names.are_named_by(host), are_named) << host;
}

TEST(HostNames, OfAServerOfThisMachine) {
  const HostNames names("127.0.0.1", "Machine");
  expect(names, true,
         {"127.0.0.1:8000", "localhost:8000", "LocalHost:8000", "localhost.:8000", "127.0.0.1", "localhost"});
  expect(names, false,
         {"",
          ":",
          ":80",
          "rebound.example:8000",
          "rebound.example",
          "127.0.0.1.example",
          "localhost.example",
          "127.0.0.2",
          "machine",
          "[::1]:8000",
          "127.0.0.1:",
          "127.0.0.1:x",
          "127.0.0.1:80:80",
          "127.0.0.1:0",
          "127.0.0.1:99999",
          "localhost:80@x",
          "localhost/",
          " localhost",
          "127.1",
          "2130706433",
          "localhost.."});
  EXPECT_TRUE(names.are_local());
  EXPECT_EQ(names.shown(), "127.0.0.1");
}

TEST(HostNames, ThePortMayBeThatOfATunnelOrLeftOut) {
  const HostNames names("127.0.0.1", "");
  expect(names, true, {"127.0.0.1", "localhost:80", "localhost:9000", "127.0.0.1:65535"});
}

TEST(HostNames, OfIPv6) {
  const HostNames names("::1", "");
  expect(names, true, {"[::1]:8000", "[::1]", "[0:0:0:0:0:0:0:1]:8000", "[0:0::1]", "localhost:8000"});
  expect(names, false,
         {"::1", "::1:8000", "[::1", "[::1]8000", "[::2]:8000", "[127.0.0.1]", "127.0.0.1", "]:80", "[]"});
  EXPECT_EQ(names.shown(), "[::1]");
}

TEST(HostNames, OfAServerForOthersAnyNumberAndTheMachinesName) {
  const HostNames names("0.0.0.0", "Machine");
  expect(names, true,
         {"192.0.2.7:8000", "[2001:db8::1]:8000", "machine:8000", "MACHINE", "localhost:8000", "10.0.0.1"});
  expect(names, false, {"rebound.example:8000", "machine.example", "", "192.0.2.7.example"});
  EXPECT_FALSE(names.are_local());
  EXPECT_EQ(names.shown(), "Machine");
  EXPECT_EQ(HostNames("0.0.0.0", "").shown(), "0.0.0.0");
  EXPECT_EQ(HostNames("192.0.2.7", "machine").shown(), "192.0.2.7");
}

}  // namespace
}  // namespace memprof::cli
