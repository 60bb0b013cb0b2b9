// SPDX-License-Identifier: Apache-2.0
#include "runtime/v8/code/code_object.h"

#include <gtest/gtest.h>

#include <vector>

namespace memprof::v8::code_object_test {
namespace {

uint64_t tagged(const uint64_t* object) {
  return reinterpret_cast<uint64_t>(object) + 1;
}

// Words before the code, an object that one of them points to, and tables.
struct Memory {
  uint64_t table[4] = {0, uint64_t{12} << 32, 0, 0};
  uint64_t newer_table[4] = {0, 12, 0, 0};
  uint64_t inner[16] = {};
  uint64_t code[32] = {};
  uint64_t start() const { return reinterpret_cast<uint64_t>(&code[20]); }
};

TEST(CodeObjects, FindTheTableBesideTheCode) {
  Memory memory;
  memory.code[17] = tagged(memory.table);
  memory.code[18] = 0x12345678;               // a small integer
  memory.code[19] = (uint64_t{1} << 46) | 1;  // points nowhere
  CodeObjects objects;
  uint32_t tries = 0;
  const auto is_it = [&](uint64_t start, uint32_t bytes) {
    ++tries;
    return start == reinterpret_cast<uint64_t>(&memory.table[2]) && bytes == 12;
  };
  EXPECT_TRUE(objects.find_table(memory.start(), is_it));
  tries = 0;
  EXPECT_TRUE(objects.find_table(memory.start(), is_it));
  EXPECT_EQ(1u, tries) << "the place is known";
}

TEST(CodeObjects, FindItInTheObjectThatTheCodePointsTo) {
  Memory memory;
  memory.code[19] = tagged(memory.inner);
  memory.inner[5] = tagged(memory.newer_table);
  CodeObjects objects;
  EXPECT_TRUE(objects.find_table(memory.start(), [&](uint64_t start, uint32_t bytes) {
    return start == reinterpret_cast<uint64_t>(&memory.newer_table[2]) && bytes == 12;
  }));
}

TEST(CodeObjects, GiveUpWhereThereIsNone) {
  const Memory memory;
  CodeObjects objects;
  for (int i = 0; i < 1000; ++i) {
    EXPECT_FALSE(objects.find_table(memory.start(), [](uint64_t, uint32_t) { return true; }));
  }
  EXPECT_FALSE(objects.find_table(8, [](uint64_t, uint32_t) { return true; })) << "no memory there";
}

}  // namespace
}  // namespace memprof::v8::code_object_test
