// SPDX-License-Identifier: Apache-2.0
// Answers of servers: tests/e2e/profile_url_test.py.
#include "memprof/io/http/profile_url.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string error_of(const std::string& url) {
  try {
    fetch_profile(url);
  } catch (const Failure& failure) {
    return failure.what();
  }
  return "";
}

TEST(ProfileUrl, IsToldByItsBeginning) {
  EXPECT_TRUE(is_profile_url("http://127.0.0.1:6060/debug/pprof/heap"));
  EXPECT_TRUE(is_profile_url("https://example.com/a.pb.gz"));
  EXPECT_FALSE(is_profile_url("a.pb.gz"));
  EXPECT_FALSE(is_profile_url("file:///etc/passwd"));
  EXPECT_FALSE(is_profile_url("./http://x"));
}

TEST(ProfileUrl, ErrorsNameTheAddress) {
  EXPECT_THAT(error_of("http://127.0.0.1:1/heap"), HasSubstr("http://127.0.0.1:1/heap: "));
}

TEST(ProfileUrl, ANameAndAPasswordAreRefusedAndNotRepeated) {
  const std::string said = error_of("http://me:secret@127.0.0.1:1/heap");
  EXPECT_THAT(said, HasSubstr("~/.netrc"));
  EXPECT_THAT(said, Not(HasSubstr("secret")));
  EXPECT_THAT(error_of("http://127.0.0.1:1/heap?at=a@b"), HasSubstr("http://127.0.0.1:1/heap"));
}

}  // namespace
}  // namespace memprof::cli
