// SPDX-License-Identifier: Apache-2.0
#include "runtime/registry.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "format/runtime_frame.h"
#include "runtime/cpython/runtime.h"

namespace memprof::runtimes::registry_test {
namespace {

TEST(Registry, EachRuntimeHasAnIdAndAllThatMayNotBeMissing) {
  std::set<uint32_t> ids;
  std::set<std::string> texts;
  for (uint32_t i = 0; i < kRegistrySize; ++i) {
    const Runtime& r = *kRegistry[i];
    EXPECT_TRUE(1 <= r.id && r.id <= kMaxRuntimes) << r.name;
    EXPECT_TRUE(ids.insert(r.id).second) << r.name;
    EXPECT_TRUE(texts.insert(r.name).second && texts.insert(r.variable).second &&
                texts.insert(r.unknown_code).second)
        << r.name;
    EXPECT_EQ(0u, std::string(r.variable).find("MEMPROF_"));
    EXPECT_TRUE(r.attach && r.enter_module && r.before_unload && r.after_unload && r.reset_in_child &&
                r.find_thread && r.merge && r.line_at)
        << r.name;
    EXPECT_EQ(&r, find_runtime(r.id));
  }
  EXPECT_EQ(1u, ids.count(cpython::kRuntime.id));
  EXPECT_EQ(nullptr, find_runtime(0));
  EXPECT_EQ(nullptr, find_runtime(kMaxRuntimes + 1));
}

}  // namespace
}  // namespace memprof::runtimes::registry_test
