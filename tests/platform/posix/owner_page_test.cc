// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "platform/posix/fork_handler.h"
#include "tests/support/engine.h"

namespace memprof::posix_owner_page_test {
namespace {

using testing_support::in_child;

TEST(PosixOwnerPage, TheOwnersMarkIsNotInAForkChild) {
  in_child([] {
    platform::OwnerPage* page = platform::make_owner_page();
    ASSERT_NE(nullptr, page);
    EXPECT_EQ(0u, page->mark);
    page->mark = 12345;
    page->claim = 1;
    in_child([page] {
      EXPECT_EQ(0u, page->mark);
      EXPECT_EQ(0u, page->claim);
    });
    EXPECT_EQ(12345u, page->mark);
  });
}

}  // namespace
}  // namespace memprof::posix_owner_page_test
