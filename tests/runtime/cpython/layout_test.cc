// SPDX-License-Identifier: Apache-2.0
// That offsets are right is seen on interpreters (tests/pythons/stacks.py); here, how the tables are read.
#include "runtime/cpython/layout.h"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace memprof::cpython::layout_test {
namespace {

// As _PyRuntime begins in 3.14: each word is its own number, so that an offset tells where it was read.
std::vector<uint64_t> runtime(uint64_t version, bool is_free_threaded) {
  std::vector<uint64_t> words(120);
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = 8 * i;
  }
  memcpy(words.data(), "xdebugpy", 8);
  words[1] = version;
  words[2] = is_free_threaded ? 1 : 0;
  return words;
}

Interpreter interpreter(uint32_t version, const std::vector<uint64_t>& words) {
  Interpreter i{};
  i.version = version;
  i.runtime = words.data();
  return i;
}

TEST(PythonLayout, IsKnownFor3_11And3_12WithoutATable) {
  Layout l;
  ASSERT_TRUE(find_layout(interpreter(0x030b07f0, {}), &l));
  EXPECT_FALSE(l.has_entry_frames);
  ASSERT_TRUE(find_layout(interpreter(0x030c01f0, {}), &l));
  EXPECT_TRUE(l.has_entry_frames);
  EXPECT_TRUE(l.has_cframe);
}

TEST(PythonLayout, ReadsTheTableOfEachVersion) {
  // Words before the thread state, counted in Include/internal/pycore_debug_offsets.h.
  const struct {
    uint32_t version;
    uint64_t thread, frame, code, object;
  } kVersions[] = {{0x030d00f0, 19, 28, 34, 44}, {0x030e00f0, 22, 31, 39, 50}, {0x030f00f0, 22, 39, 47, 58}};
  for (const auto& v : kVersions) {
    const auto words = runtime(v.version, false);
    Layout l;
    ASSERT_TRUE(find_layout(interpreter(v.version, words), &l)) << std::hex << v.version;
    EXPECT_EQ(8 * (v.thread + 4), l.thread_frame);
    EXPECT_EQ(8 * (v.frame + 1), l.frame_previous);
    EXPECT_EQ(8 * (v.frame + 5), l.frame_owner);
    EXPECT_EQ(8 * (v.code + 1), l.code_file);
    EXPECT_EQ(8 * (v.code + 9), l.code_bytecode);
    EXPECT_EQ(8 * (v.object + 1), l.object_type);
    EXPECT_EQ(0u, l.code_thread_bytecode);
    EXPECT_EQ(2u, l.text_kind_shift);
  }
}

TEST(PythonLayout, AFreeThreadedBuildHasBytecodeOfEachThread) {
  const auto words = runtime(0x030e00f0, true);
  Layout l;
  ASSERT_TRUE(find_layout(interpreter(0x030e00f0, words), &l));
  EXPECT_EQ(8u * (39 + 10), l.code_thread_bytecode);
  EXPECT_EQ(8u * (31 + 7), l.frame_bytecode_index);
  EXPECT_EQ(l.code_thread_bytecode - 16, l.code_first_traceable);
  EXPECT_EQ(8u, l.text_kind_shift);
}

TEST(PythonLayout, RefusesWhatItDoesNotKnow) {
  Layout l;
  EXPECT_FALSE(find_layout(interpreter(0x030a00f0, {}), &l));
  EXPECT_FALSE(find_layout(interpreter(0x031000f0, runtime(0x031000f0, false)), &l));
  EXPECT_FALSE(find_layout(interpreter(0, {}), &l));
}

TEST(PythonLayout, RefusesATableThatIsNone) {
  Layout l;
  auto words = runtime(0x030e00f0, false);
  words[0] ^= 1;
  EXPECT_FALSE(find_layout(interpreter(0x030e00f0, words), &l));
  words = runtime(0x030d00f0, false);  // another version's
  EXPECT_FALSE(find_layout(interpreter(0x030e00f0, words), &l));
  words = runtime(0x030e00f0, false);
  words[31 + 1] = 1u << 20;
  EXPECT_FALSE(find_layout(interpreter(0x030e00f0, words), &l));
  EXPECT_FALSE(find_layout({}, &l));
}

}  // namespace
}  // namespace memprof::cpython::layout_test
