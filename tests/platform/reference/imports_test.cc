// SPDX-License-Identifier: Apache-2.0
#include "platform/imports.h"

#include <gtest/gtest.h>

namespace memprof::reference_imports_test {
namespace {

TEST(ReferenceImports, ThereAreNone) {
  EXPECT_FALSE(platform::patch_imports());
  EXPECT_FALSE(platform::prepare_imports());
}

}  // namespace
}  // namespace memprof::reference_imports_test
