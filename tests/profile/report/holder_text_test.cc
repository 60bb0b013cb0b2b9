// SPDX-License-Identifier: Apache-2.0
#include "profile/report/holder_text.h"

#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

TEST(HolderText, NamesTheFirstRow) {
  report_fixture::Builder b;
  b.stack({b.at("handle"), b.at("main")}, 3 << 20, 1).stack({b.at("start"), b.at("main")}, 1 << 20, 1);
  EXPECT_EQ(holder_text(b.profile()), "; handle holds 75 % of 4.0 MiB");
  EXPECT_EQ(holder_text(b.profile(), "held"), "; handle held 75 % of 4.0 MiB");
}

TEST(HolderText, OfNothingThereIsNone) {
  EXPECT_EQ(holder_text(Profile()), "");
}

}  // namespace
}  // namespace memprof::profile
