// SPDX-License-Identifier: Apache-2.0
#include "platform/modules.h"

#include <gtest/gtest.h>

#include "core/engine/runtimes.h"

namespace memprof::reference_modules_test {
namespace {

TEST(ReferenceModules, ThereAreNone) {
  const auto here = reinterpret_cast<uint64_t>(&platform::find_module);
  platform::ModuleInfo info{};
  EXPECT_FALSE(platform::find_module(here, &info));
  const char* const names[] = {"malloc"};
  const void* addresses[1] = {};
  EXPECT_FALSE(platform::find_exports_at(here, names, 1, addresses));
  EXPECT_FALSE(platform::find_exports(names, 1, addresses));
  const char* name = nullptr;
  uint64_t start = 0;
  EXPECT_FALSE(platform::find_symbol(here, &name, &start));
  EXPECT_EQ(nullptr, platform::find_other_copy());
  runtimes::attach();  // finds no runtime, and no fault
}

}  // namespace
}  // namespace memprof::reference_modules_test
