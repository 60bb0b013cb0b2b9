// SPDX-License-Identifier: Apache-2.0
#include "core/engine/facts.h"

#include <gtest/gtest.h>

#include "tests/support/engine.h"

namespace memprof::facts_test {
namespace {

using testing_support::in_child;

TEST(Facts, HooksAnnounceThemselves) {
  in_child([] {
    EXPECT_FALSE(profiler::has_hooks());
    profiler::announce_hooks();
    EXPECT_TRUE(profiler::has_hooks());
  });
}

}  // namespace
}  // namespace memprof::facts_test
