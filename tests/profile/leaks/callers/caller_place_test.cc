// SPDX-License-Identifier: Apache-2.0
// leaks_test.cc has callers of places.
#include "profile/leaks/callers/caller_place.h"

#include <gtest/gtest.h>

#include "tests/profile/report_fixture.h"

namespace memprof::profile {
namespace {

TEST(CallerPlace, module_loaders_are_those_of_python_and_node) {
  report_fixture::Builder builder(1);
  const uint32_t loaders[] = {builder.at("_call_with_frames_removed", "<frozen importlib._bootstrap>", 241),
                              builder.at("get_data", "<frozen importlib._bootstrap_external>", 1073),
                              builder.at("Module._load", "node:internal/modules/cjs/loader", 1104)};
  const uint32_t others[] = {builder.at("handle", "app.py", 3),
                             builder.at("onread", "node:internal/stream_base", 5),
                             builder.at("helper", "importlib.cc", 7)};
  const std::vector<bool> are_loaders = module_loaders(builder.profile());
  ASSERT_EQ(are_loaders.size(), builder.profile().locations.size());
  for (const uint32_t location : loaders) EXPECT_TRUE(are_loaders[location]);
  for (const uint32_t location : others) EXPECT_FALSE(are_loaders[location]);
}

}  // namespace
}  // namespace memprof::profile
