// SPDX-License-Identifier: Apache-2.0
#include "memprof/console.h"

#include <gtest/gtest.h>

#include <cerrno>

#include "memprof/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(Console, WordsForAShell) {
  EXPECT_EQ(shell_word("memprof.ls.42.pb.gz"), "memprof.ls.42.pb.gz");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's"), "'it'\\''s'");
  EXPECT_EQ(shell_word(""), "''");
  EXPECT_EQ(shell_word("$HOME;rm"), "'$HOME;rm'");
}

TEST(Console, ErrorsAreTheEndOfALine) {
  EXPECT_EQ(error_text(ENOENT), "no such file or directory");
  EXPECT_EQ(error_text(EIO), "input/output error");
}

TEST(Console, AFullStandardOutputIsAFailure) {
  const auto result = testing_tools::run({"sh", "-c", std::string(MEMPROF_PROGRAM) + " --help >/dev/full"});
  EXPECT_EQ(result.status, 2);
  EXPECT_EQ(result.err, "memprof: standard output: no space left on device\n");
}

TEST(Console, WhatIsSaidStaysOneLine) {
  testing::internal::CaptureStderr();
  complain("two\nlines\x1b[2J");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "memprof: two?lines?[2J\n");
}

TEST(Console, AFileHasNoWidthAndNoColours) {
  const auto result = testing_tools::memprof({"--help"});
  EXPECT_EQ(result.out.find('\x1b'), std::string::npos);
}

}  // namespace
}  // namespace memprof::cli
