// SPDX-License-Identifier: Apache-2.0
#include "platform/imports.h"

#include <gtest/gtest.h>

namespace memprof::reference_import_tables_test {
namespace {

TEST(ReferenceImportTables, ThereAreNone) {
  EXPECT_FALSE(platform::prepare_late_hooks(nullptr));
  platform::watch_imports(1);
  platform::recheck_imports();
  EXPECT_EQ(0u, platform::allocator_behind_hooks());
  EXPECT_EQ(0u, platform::imports().modules);
  EXPECT_EQ(0u, platform::imports().patched);
  char text[4] = "x";
  EXPECT_EQ(0u, platform::describe_imports(text, sizeof(text)));
  EXPECT_STREQ("", text);
  EXPECT_EQ(0u, platform::describe_imports(nullptr, 0));
  EXPECT_STREQ("", platform::imports_note());
}

}  // namespace
}  // namespace memprof::reference_import_tables_test
