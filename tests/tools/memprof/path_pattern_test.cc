// SPDX-License-Identifier: Apache-2.0
#include "memprof/path_pattern.h"

#include <gtest/gtest.h>

#include "memprof/failure.h"

namespace memprof::cli {
namespace {

const PathFacts kFacts{42, "server", 1700000000};

TEST(PathPattern, Expands) {
  EXPECT_EQ(expand_path("memprof.%n.%p.pb.gz", kFacts), "memprof.server.42.pb.gz");
  EXPECT_EQ(expand_path("%t%%%p", kFacts), "1700000000%42");
  EXPECT_EQ(expand_path("plain", kFacts), "plain");
  EXPECT_EQ(expand_path("%%p", kFacts), "%p");
}

TEST(PathPattern, RefusesOtherLetters) {
  for (const char* pattern : {"%", "a%", "%x", "% p", "%P"}) {
    EXPECT_THROW(expand_path(pattern, kFacts), Failure) << pattern;
  }
}

TEST(PathPattern, AnEscapedPathExpandsToItself) {
  for (const char* path : {"/tmp/100%/x", "%p", "%%", "plain"}) {
    EXPECT_EQ(expand_path(escape_path(path), kFacts), path);
  }
}

}  // namespace
}  // namespace memprof::cli
