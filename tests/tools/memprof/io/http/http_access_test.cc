// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/http/http_access.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

// A command that has them.
struct Command {
  explicit Command(const std::vector<std::string>& arguments) { parser.parse(arguments); }
  ArgumentParser parser{"some", HelpText{"some", "", "", ""}};
  HttpAccessOptions options{parser};
};

TEST(HttpAccess, IsWhatWasGiven) {
  const Command command({"--token-file", "t", "--ca-file", "c"});
  EXPECT_EQ(command.options.access().token_file, "t");
  EXPECT_EQ(command.options.access().ca_file, "c");
  EXPECT_EQ(command.options.given(), "--token-file");
  EXPECT_EQ(Command({}).options.given(), "");
  const Command both({"--token-file", "a", "--password-file", "b"});
  EXPECT_THROW(both.options.access(), Failure);
}

std::string failure_of(const HttpAccess& access) {
  try {
    check_http_access(access);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(HttpAccess, WhatIsWrongWithFilesIsSaid) {
  const testing_tools::Folder folder;
  const std::string file = folder / "a";
  testing_tools::write_file(file, "no colon\n");
  EXPECT_EQ(failure_of({file, "", ""}), "");
  EXPECT_EQ(failure_of({folder / "gone", "", ""}).find("--token-file: "), 0U);
  EXPECT_NE(failure_of({"", file, ""}).find("has no NAME:PASSWORD"), std::string::npos);
  EXPECT_NE(failure_of({"", "", file}).find("has no certificate"), std::string::npos);
}

}  // namespace
}  // namespace memprof::cli
