// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/pyroscope/pyroscope_query.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr int64_t kNow = 1'777'644'300'000;
constexpr int64_t kHour = 3'600'000;

std::string error_of(const std::string& text) {
  try {
    parse_pyroscope_query(text, kNow);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(PyroscopeQuery, IsToldFromOtherAddresses) {
  EXPECT_TRUE(is_pyroscope_query("pyroscope+http://a:4040/shop"));
  EXPECT_TRUE(is_pyroscope_query("pyroscope+https://a/shop?from=now-1h"));
  EXPECT_TRUE(is_pyroscope_query("http://a:4040/?query=memory%3Ainuse_space%3Abytes%3Aspace%3Abytes%7B%7D"));
  EXPECT_TRUE(is_pyroscope_query("http://a:4040/?query=memory:inuse_space:bytes:space:bytes&from=now-1h"));
  EXPECT_TRUE(is_pyroscope_query("https://a/?from=now-1h&query={service_name=\"x\"}"));
  EXPECT_TRUE(is_pyroscope_query("https://a/?query={service_name"))
      << "the server says what is wrong with it";
  EXPECT_FALSE(is_pyroscope_query("http://a:4040/debug/pprof/heap?service=shop"));
  EXPECT_FALSE(is_pyroscope_query("http://a/file?query=heap"));
  EXPECT_FALSE(is_pyroscope_query("http://a/?query="));
  EXPECT_FALSE(is_pyroscope_query("pyroscope+ftp://a/shop"));
  EXPECT_FALSE(is_pyroscope_query("shop.pb.gz"));
}

TEST(PyroscopeQuery, AServiceIsShort) {
  const PyroscopeQuery query = parse_pyroscope_query("pyroscope+http://a:4040/shop", kNow);
  EXPECT_EQ(query.server, "http://a:4040");
  EXPECT_EQ(query.selector, "{service_name=\"shop\"}");
  EXPECT_EQ(query.name, "");
  EXPECT_EQ(query.start_ms, kNow - kHour);
  EXPECT_EQ(query.end_ms, kNow);
}

TEST(PyroscopeQuery, LabelsTimesAndAPathInFront) {
  const PyroscopeQuery query = parse_pyroscope_query(
      "pyroscope+https://a/in/front/my%20shop?host=a%22b&from=now-2h&until=now-1h&name=memory&z=1+2", kNow);
  EXPECT_EQ(query.server, "https://a/in/front");
  EXPECT_EQ(query.selector, R"({service_name="my shop",host="a\"b",z="1 2"})");
  EXPECT_EQ(query.name, "memory");
  EXPECT_EQ(query.start_ms, kNow - 2 * kHour);
  EXPECT_EQ(query.end_ms, kNow - kHour);
  EXPECT_EQ(parse_pyroscope_query("pyroscope+http://a", kNow).selector, "{}");
  EXPECT_EQ(parse_pyroscope_query("pyroscope+http://a/?host=b", kNow).selector, "{host=\"b\"}");
}

TEST(PyroscopeQuery, ALinkOfItsPage) {
  const PyroscopeQuery query = parse_pyroscope_query(
      "http://a:4040/?query=memory%3Ainuse_space%3Abytes%3Aspace%3Abytes%7Bservice_name%3D%22x%22%7D"
      "&from=1777640700&until=1777644300",
      kNow);
  EXPECT_EQ(query.server, "http://a:4040");
  EXPECT_EQ(query.name, "memory");
  EXPECT_EQ(query.selector, "{service_name=\"x\"}");
  EXPECT_EQ(query.start_ms, kNow - kHour);
  EXPECT_EQ(query.end_ms, kNow);
  for (const char* const front : {"http://a/p/", "http://a/p", "http://a/p/explore"}) {
    EXPECT_EQ(parse_pyroscope_query(std::string(front) + "?query={}", kNow).server,
              std::string(front) == "http://a/p" ? "http://a" : "http://a/p");
  }
  EXPECT_EQ(parse_pyroscope_query("http://a/p/pyroscope/render?query={}&format=dot", kNow).server,
            "http://a/p");
}

TEST(PyroscopeQuery, ARangeIsAWholeNumberOfSteps) {
  const PyroscopeQuery query =
      parse_pyroscope_query("pyroscope+http://a/shop?from=1777644299999&until=1777644300000", kNow);
  EXPECT_EQ(query.start_ms, kNow - kRangeUnitMs);
  EXPECT_EQ(query.end_ms, kNow);
}

TEST(PyroscopeQuery, WhatIsWrongIsSaid) {
  EXPECT_THAT(error_of("pyroscope+http://a/shop?from=yesterday"), HasSubstr("'yesterday' is not a time"));
  EXPECT_THAT(error_of("pyroscope+http://a/shop?from=now&until=now-1h"), HasSubstr("ends before it begins"));
  EXPECT_THAT(error_of("pyroscope+http:///shop"), HasSubstr("names no host"));
  EXPECT_THAT(error_of("pyroscope+http://a/shop?1x=2"), HasSubstr("'1x' is not the name of a label"));
  EXPECT_THAT(error_of("pyroscope+http://a/shop?query={}"), HasSubstr("leave out 'pyroscope+'"));
  const std::string said = error_of("pyroscope+http://me:secret@a/shop");
  EXPECT_THAT(said, HasSubstr("~/.netrc"));
  EXPECT_THAT(said, Not(HasSubstr("secret")));
}

}  // namespace
}  // namespace memprof::cli
