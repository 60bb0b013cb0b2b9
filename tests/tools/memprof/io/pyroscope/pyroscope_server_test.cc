// SPDX-License-Identifier: Apache-2.0
// Answers of servers: tests/e2e/pyroscope_read_test.py.
#include "memprof/io/pyroscope/pyroscope_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

using ::testing::StartsWith;

TEST(PyroscopeServer, ErrorsNameTheAddressAsItWasGiven) {
  if (!why_no_http().empty()) GTEST_SKIP() << why_no_http();
  PyroscopeQuery query;
  query.server = "http://127.0.0.1:1";  // nobody listens there
  PyroscopeServer server("pyroscope+http://127.0.0.1:1/shop", query, {});
  try {
    server.ask("Series", nlohmann::json::object());
    FAIL();
  } catch (const Failure& failure) {
    EXPECT_THAT(failure.what(), StartsWith("pyroscope+http://127.0.0.1:1/shop: "));
  }
}

TEST(PyroscopeServer, WithoutItsTokenNothingIsAsked) {
  if (!why_no_http().empty()) GTEST_SKIP() << why_no_http();
  HttpAccess access;
  access.token_file = "/gone/token";
  PyroscopeServer server("u", {}, access);
  EXPECT_THROW(server.profile_of("memory:inuse_space:bytes:space:bytes"), Failure);
}

}  // namespace
}  // namespace memprof::cli
