// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/debuginfo/build_request.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

struct Parsed {
  bool is_well = false;
  BuildRequest request;
  unsigned status = 0;
  std::string why;
};

Parsed parse(const std::string& target) {
  Parsed parsed;
  parsed.is_well = parse_build_request(target, &parsed.request, &parsed.status, &parsed.why);
  return parsed;
}

TEST(BuildRequest, HasAnIdAndAPart) {
  const Parsed debuginfo = parse("/buildid/00aAfF09/debuginfo");
  ASSERT_TRUE(debuginfo.is_well);
  EXPECT_EQ(debuginfo.request.build_id, "00aaff09");
  EXPECT_EQ(debuginfo.request.part, BuildPart::kDebuginfo);
  const Parsed executable = parse("/buildid/" + std::string(128, '9') + "/executable");
  ASSERT_TRUE(executable.is_well);
  EXPECT_EQ(executable.request.build_id, std::string(128, '9'));
  EXPECT_EQ(executable.request.part, BuildPart::kExecutable);
}

TEST(BuildRequest, NoIdIsAPath) {
  for (const std::string id :
       {"", "abcdef", "abcdef012", "abcdefg0", "../../aa", "%2e%2e%2f", "abcdef0.", "abcdef0 "}) {
    const Parsed parsed = parse("/buildid/" + id + "/debuginfo");
    EXPECT_FALSE(parsed.is_well) << id;
    EXPECT_EQ(parsed.status, 400U) << id;
  }
  EXPECT_THAT(parse("/buildid/xyz/debuginfo").why, HasSubstr("8 to 128 hexadecimal digits"));
  EXPECT_EQ(parse("/buildid/" + std::string(130, '9') + "/executable").status, 400U);
  EXPECT_EQ(parse("/buildid/abcdef01").status, 400U);
  EXPECT_EQ(parse("/elsewhere").status, 400U);
}

TEST(BuildRequest, OtherPartsAreNotServed) {
  for (const std::string part : {"source/a.c", "section/.text"}) {
    const Parsed parsed = parse("/buildid/abcdef01/" + part);
    EXPECT_FALSE(parsed.is_well);
    EXPECT_EQ(parsed.status, 404U);
    EXPECT_THAT(parsed.why, HasSubstr("neither sources nor sections"));
  }
  for (const std::string part : {"", "debuginfo/", "debuginfo?a", "executable/../debuginfo", "metrics"}) {
    const Parsed parsed = parse("/buildid/abcdef01/" + part);
    EXPECT_FALSE(parsed.is_well);
    EXPECT_EQ(parsed.status, 404U);
    EXPECT_THAT(parsed.why, HasSubstr("ask for /buildid/ID/debuginfo"));
  }
}

TEST(BuildRequest, IsKnownByItsBeginning) {
  EXPECT_TRUE(is_build_path("/buildid/"));
  EXPECT_TRUE(is_build_path("/buildid/x"));
  EXPECT_FALSE(is_build_path("/buildid"));
  EXPECT_FALSE(is_build_path("/metrics"));
}

}  // namespace
}  // namespace memprof::cli
