// SPDX-License-Identifier: Apache-2.0
#include "profile/files/base64.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(Base64, IsThatOfItsRfc) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foo"), "Zm9v");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(base64("\xff\xef\xbe"), "/+++");
}

TEST(Base64, GivesBackWhatItWasMadeOf) {
  std::string bytes;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(from_base64(base64(bytes)), bytes) << i;
    bytes.push_back(static_cast<char>(i * 7));
  }
}

TEST(Base64, AnythingElseIsNothing) {
  for (const char* bad :
       {"A", "Zg=", "Zg=a", "Z===", "====", "Zm9v\n", "Zm 9", "Zg==Zg==", "\xff\xff\xff\xff"}) {
    EXPECT_FALSE(from_base64(bad)) << bad;
  }
}

}  // namespace
}  // namespace memprof::profile
