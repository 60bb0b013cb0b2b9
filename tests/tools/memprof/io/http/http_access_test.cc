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

TEST(HttpAccess, IsPutIntoARequest) {
  const testing_tools::Folder folder;
  HttpAccess access;
  access.token_file = folder / "token";
  access.ca_file = "c";
  testing_tools::write_file(access.token_file, "abc\nmore\n");
  HttpRequest request;
  add_http_access(access, &request);
  EXPECT_EQ(request.headers, std::vector<std::string>{"Authorization: Bearer abc"});
  EXPECT_EQ(request.ca_file, "c");
  testing_tools::write_file(access.token_file, "new\n");
  add_http_access(access, &request);
  EXPECT_EQ(request.headers.back(), "Authorization: Bearer new") << "it is read again";
  add_http_access({}, &request);
  EXPECT_EQ(request.ca_file, "c") << "what is not given is left alone";
}

}  // namespace
}  // namespace memprof::cli
