// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/engine.h"

#include <gtest/gtest.h>

namespace memprof::v8::engine_test {
namespace {

TEST(Engine, VersionsAreThoseOfV8) {
  EXPECT_EQ(0x0a02u, parse_version("10.2.154.26-node.39"));
  EXPECT_EQ(0x0b03u, parse_version("11.3.244.8-node.38"));
  EXPECT_EQ(0x0e06u, parse_version("14.6.202.34-node.34"));
  EXPECT_EQ(0x0e06u, parse_version("14.6"));
}

TEST(Engine, OtherTextIsNoVersion) {
  for (const char* text : {"", "x", "14", "14.", ".6", "14.x", "300.1", "1.300", "99999999999.1"}) {
    EXPECT_EQ(0u, parse_version(text)) << text;
  }
}

TEST(Engine, AProcessWithoutV8HasNone) {
  EXPECT_EQ(nullptr, find_engine());
  EXPECT_EQ(nullptr, find_engine_at(reinterpret_cast<uint64_t>(&parse_version)));
  EXPECT_EQ(nullptr, engine());
  suspend_engine();
  resume_engine();
  EXPECT_EQ(nullptr, engine());
}

}  // namespace
}  // namespace memprof::v8::engine_test
