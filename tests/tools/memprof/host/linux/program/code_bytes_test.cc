// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/program/code_bytes.h"

#include <gtest/gtest.h>

#include <string>

namespace memprof::cli {
namespace {

TEST(CodeBytes, AreThoseThatAreNoFill) {
  const std::string code = "\x55\x48\x89\xe5\xe8\x01\x02\x03\x04\x5d\xc3";
  EXPECT_EQ(code_bytes(""), 0u);
  EXPECT_EQ(code_bytes(code), code.size());
  for (const char fill : {'\0', '\x90', '\xcc'}) {
    EXPECT_EQ(code_bytes(std::string(100, fill)), 0u);
    EXPECT_EQ(code_bytes(code + std::string(16, fill) + code), 2 * code.size());
    EXPECT_EQ(code_bytes(std::string(5000, fill) + code), code.size());
  }
  std::string long_nops;
  for (int i = 0; i < 10; ++i) long_nops += std::string("\x66\x2e\x0f\x1f\x84\0\0\0\0\0", 10);
  EXPECT_EQ(code_bytes(code + long_nops), code.size());
}

TEST(CodeBytes, AShortFillMayBePartOfAnInstruction) {
  const std::string move = std::string("\x48\xc7\xc0\0\0\0\0", 7);
  EXPECT_EQ(code_bytes(move + std::string(8, '\0') + move), 22u);
  EXPECT_EQ(code_bytes(std::string(15, '\x90')), 15u);
}

}  // namespace
}  // namespace memprof::cli
