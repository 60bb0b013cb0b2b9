// SPDX-License-Identifier: Apache-2.0
// Another copy of the library, played by a fixture.
#include <gtest/gtest.h>

#include "platform/modules.h"
#include "tests/support/import_fixtures.h"

namespace memprof::other_copy_test {
namespace {

using testing_support::FixtureLibrary;

TEST(OtherCopy, NoneInThisProcess) {
  EXPECT_EQ(nullptr, platform::find_other_copy());
}

TEST(OtherCopy, OneThatIsOnlyLoadedDoesNotMatterOneAtWorkDoes) {
  const FixtureLibrary other("other_copy");
  EXPECT_EQ(nullptr, platform::find_other_copy());
  *other.get<unsigned*>("other_copy_state") = 1;
  EXPECT_STREQ(other.path.c_str(), platform::find_other_copy());
  other.close();
  EXPECT_EQ(nullptr, platform::find_other_copy());
}

}  // namespace
}  // namespace memprof::other_copy_test
