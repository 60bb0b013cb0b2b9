// SPDX-License-Identifier: Apache-2.0
#include "profile/names/runtime_name.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(RuntimeName, TheFirstNeedsNoName) {
  Runtimes runtimes;
  EXPECT_EQ(language_name(runtimes, 0), "Python");
  EXPECT_EQ(language_name(runtimes, 1), "runtime 2");
  runtimes[1].name = "Toy";
  EXPECT_EQ(language_name(runtimes, 1), "Toy");
}

TEST(RuntimeName, TheModuleIsTheOneThatIsThere) {
  Runtimes runtimes;
  EXPECT_EQ(runtime_module(runtimes), "[Python]") << "of a file that says nothing of it";
  runtimes[0].version = 0x030b;
  EXPECT_EQ(runtime_module(runtimes), "[Python]");
  runtimes[3] = {1, 0, 0, "Toy"};
  EXPECT_EQ(runtime_module(runtimes), "[runtimes]");
  runtimes[0].version = 0;
  EXPECT_EQ(runtime_module(runtimes), "[Toy]");
}

}  // namespace
}  // namespace memprof::profile
