// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/files/debug_link.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

using std::string_view_literals::operator""sv;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(DebugLink, HasANameAndAChecksum) {
  const auto link = parse_debug_link("a.debug\0\x01\x02\x03\x04"sv);
  ASSERT_TRUE(link);
  EXPECT_EQ(link->name, "a.debug");
  EXPECT_EQ(link->crc, 0x04030201u);
  EXPECT_EQ(parse_debug_link("ab\0\0\x01\x02\x03\x04"sv, true)->crc, 0x01020304u);
  for (const std::string_view wrong : {""sv, "a.debug"sv, "a.debug\0\x01\x02\x03"sv,
                                       "\0\0\0\0\x01\x02\x03\x04"sv, "../a\0\0\0\0\x01\x02\x03\x04"sv}) {
    EXPECT_FALSE(parse_debug_link(wrong)) << wrong;
  }
}

TEST(DebugLink, IsLookedForBesideTheFileAndBelowTheRoot) {
  EXPECT_THAT(debug_link_candidates("/opt/app", {"app.debug", 0}, "/root"),
              ElementsAre("/opt/app.debug", "/opt/.debug/app.debug", "/root/opt/app.debug"));
  EXPECT_THAT(debug_link_candidates("/opt/app", {"app", 0}, "/root"),
              ElementsAre("/opt/.debug/app", "/root/opt/app"))
      << "not the file itself";
  EXPECT_THAT(debug_link_candidates("app", {"app.debug", 0}, "/root"), IsEmpty());
}

TEST(DebugLink, OfABuildItIsByItsId) {
  EXPECT_EQ(debug_path_of_build("/usr/lib/debug", "ab12cd"), "/usr/lib/debug/.build-id/ab/12cd.debug");
}

TEST(DebugLink, ChecksumsAreCrc32) {
  EXPECT_EQ(debug_link_checksum(""), 0u);
  EXPECT_EQ(debug_link_checksum("123456789"), 0xcbf43926u);
}

}  // namespace
}  // namespace memprof::profile
