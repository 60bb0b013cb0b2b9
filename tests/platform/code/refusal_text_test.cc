// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "platform/code/relocation.h"

namespace memprof::refusal_text_test {
namespace {

using platform::Refusal;

TEST(RefusalText, EachRefusalHasItsOwn) {
  std::set<std::string> texts;
  for (auto one = static_cast<int>(Refusal::kNone); one <= static_cast<int>(Refusal::kAcrossPages); ++one) {
    EXPECT_TRUE(texts.insert(platform::refusal_text(static_cast<Refusal>(one))).second) << one;
  }
  EXPECT_EQ(0u, texts.count(""));
}

}  // namespace
}  // namespace memprof::refusal_text_test
