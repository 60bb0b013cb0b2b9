// SPDX-License-Identifier: Apache-2.0
#include "memprof/io/path_pattern.h"

#include <gtest/gtest.h>

#include "memprof/console/failure.h"

namespace memprof::cli {
namespace {

const PathFacts kFacts{42, "server", 1700000000};

TEST(PathPattern, Expands) {
  EXPECT_EQ(expand_path("memprof.%n.%p.pb.gz", kFacts), "memprof.server.42.pb.gz");
  EXPECT_EQ(expand_path("%t%%%p", kFacts), "1700000000%42");
  EXPECT_EQ(expand_path("plain", kFacts), "plain");
  EXPECT_EQ(expand_path("%%p", kFacts), "%p");
}

TEST(PathPattern, ANameLeadsNowhere) {
  const auto named = [](const std::string& program) {
    return expand_path("out/%n.pb", PathFacts{42, program, 0});
  };
  EXPECT_EQ(named("../../etc/cron.d/x"), "out/.._.._etc_cron.d_x.pb");
  EXPECT_EQ(named("a\nb\x1b"), "out/a_b_.pb");
  EXPECT_EQ(expand_path("out/%n/x", PathFacts{42, "..", 0}), "out/__/x");
  EXPECT_EQ(expand_path("out/%n/x", PathFacts{42, ".", 0}), "out/_/x");
  EXPECT_EQ(named("a..b"), "out/a..b.pb");
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
