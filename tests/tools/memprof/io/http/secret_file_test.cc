// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/http/secret_file.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

TEST(SecretFile, IsTheFirstLine) {
  const testing_tools::Folder folder;
  for (const char* text : {"token", "token\n", "token\r\n", "token\nmore\n"}) {
    testing_tools::write_file(folder / "a", text);
    EXPECT_EQ(read_secret("--token-file", folder / "a"), "token");
  }
}

TEST(SecretFile, WhatIsNoneIsNamedButNotShown) {
  const testing_tools::Folder folder;
  for (const char* text : {"", "\n", "geheim\x01", "geh\xc3\xa4im"}) {
    testing_tools::write_file(folder / "a", text);
    try {
      read_secret("--token-file", folder / "a");
      FAIL() << text;
    } catch (const Failure& failure) {
      const std::string line = failure.what();
      EXPECT_EQ(line.rfind("--token-file: " + (folder / "a"), 0), 0U);
      EXPECT_EQ(line.find("geh"), std::string::npos);
    }
  }
  EXPECT_THROW(read_secret("--token-file", folder / "gone"), Failure);
}

}  // namespace
}  // namespace memprof::cli
