// SPDX-License-Identifier: Apache-2.0
#include "profile/gate/limit_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profile/model/error.h"

namespace memprof::profile {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

LimitFile parsed(const std::string& text) {
  return parse_limit_file(text, "memprof.toml");
}

std::string error_of(const std::string& text) {
  try {
    parsed(text);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

constexpr char kWhole[] = R"(peak = "64 MB"
live_objects = 10

[[check]]
name = "loop"
command = ["./loop", "{n}"]
iterations = [100, 1100]
process = "^loop"
follow = false
growth_per_iteration = 100

[[check.site]]
focus = "parse"
calls = 2
allocations_per_call = 1.5
alloc = "1 MiB"

[[check.row]]
by = "module"
live = "2M"

[[check]]
profile = "new.pb.gz"
baseline = ["old1.pb.gz", "old2.pb.gz"]
fail_on = ["growth > 5MB", "alloc > 10%"]
rate = "64k"

[[test]]
name = "tests/*"
peak = "24 MB"
)";

TEST(LimitFile, IsAListOfChecks) {
  const LimitFile file = parsed(kWhole);
  ASSERT_EQ(file.checks.size(), 3u);
  const GateCheck& top = file.checks[0];
  EXPECT_EQ(top.name, "");
  EXPECT_TRUE(top.command.empty());
  ASSERT_EQ(top.scopes.size(), 1u);
  ASSERT_EQ(top.scopes[0].limits.size(), 2u);
  EXPECT_EQ(top.scopes[0].limits[0].key, "peak");
  EXPECT_EQ(top.scopes[0].limits[0].amount, "64 MB");
  EXPECT_EQ(top.scopes[0].limits[0].max, 64.0 * 1024 * 1024);
  EXPECT_EQ(top.scopes[0].limits[0].line, 1);
  EXPECT_EQ(top.scopes[0].limits[1].metric, Metric::kInuseObjects);
  EXPECT_EQ(top.scopes[0].limits[1].max, 10);

  const GateCheck& loop = file.checks[1];
  EXPECT_EQ(loop.line, 4);
  EXPECT_THAT(loop.command, ElementsAre("./loop", "{n}"));
  EXPECT_THAT(loop.iterations, ElementsAre(100, 1100));
  EXPECT_FALSE(loop.follow);
  ASSERT_TRUE(loop.process);
  ASSERT_EQ(loop.scopes.size(), 3u);
  EXPECT_EQ(loop.scopes[0].limits[0].per, LimitPer::kIteration);
  EXPECT_EQ(loop.scopes[0].limits[0].metric, Metric::kInuseSpace);
  EXPECT_EQ(loop.scopes[0].limits[0].line, 10);
  ASSERT_TRUE(loop.scopes[0].filter.process);
  const GateScope& site = loop.scopes[1];
  EXPECT_EQ(site.kind, ScopeKind::kSite);
  EXPECT_EQ(site.name, "parse");
  EXPECT_EQ(site.calls, 2);
  ASSERT_EQ(site.limits.size(), 2u);
  EXPECT_EQ(site.limits[1].key, "allocations_per_call");
  EXPECT_EQ(site.limits[1].max, 1.5);
  EXPECT_EQ(site.limits[1].metric, Metric::kAllocObjects);
  const GateScope& row = loop.scopes[2];
  EXPECT_EQ(row.kind, ScopeKind::kRow);
  EXPECT_EQ(row.by, GroupBy::kModule);
  EXPECT_EQ(row.name, "any module");

  const GateCheck& old = file.checks[2];
  EXPECT_EQ(old.name, "check 3");
  EXPECT_EQ(old.rate_bytes, 65536u);
  EXPECT_THAT(old.baseline, ElementsAre("old1.pb.gz", "old2.pb.gz"));
  ASSERT_EQ(old.fail_on.size(), 2u);
  EXPECT_TRUE(old.fail_on[1].is_percent);
  EXPECT_EQ(old.fail_on_lines[1], 25);
}

TEST(LimitFile, OnlyTestsAreNoCheck) {
  EXPECT_TRUE(parsed("[[test]]\nname = \"*\"\npeak = \"1 MB\"\n").checks.empty());
}

TEST(LimitFile, AMisspeltKeyIsNamedWithTheNearest) {
  EXPECT_EQ(error_of("peek = \"1 MB\"\n"),
            "memprof.toml:1: 'peek' is no key at the top level; did you mean 'peak'?");
  EXPECT_THAT(error_of("[[check]]\npeak = 1\ncomand = [\"x\"]\n"),
              AllOf(StartsWith("memprof.toml:3: 'comand' is no key [[check]]"), HasSubstr("'command'")));
  EXPECT_THAT(error_of("peak = 1\n[[site]]\nfocus = \"x\"\nliv = 1\n"), HasSubstr("did you mean 'live'?"));
  EXPECT_THAT(error_of("[[row]]\ngrowth_per_iteration = 1\n"), HasSubstr("memprof.toml:2: "));
  EXPECT_THAT(error_of("[[chek]]\npeak = 1\n"), HasSubstr("did you mean 'check'?"));
  EXPECT_THAT(error_of("[[test]]\nname = \"*\"\nleaks = 1\n"), HasSubstr("no key [[test]]"));
}

TEST(LimitFile, WrongValuesAreNamedWithTheirLine) {
  const std::pair<const char*, const char*> cases[] = {
      {"peak = \"24 XB\"", "1: peak: '24 XB' is no size; write a number and a unit"},
      {"peak = -1", "'-1' is no size"},
      {"peak = true", "peak: give a number, or a text"},
      {"alloc_objects = \"5 MB\"", "alloc_objects: give a number without a unit"},
      {"alloc_objects = nan", "alloc_objects: give a number without a unit"},
      {"alloc_objects = inf", "0 or more"},
      {"", "the check has no limit"},
      {"[[check]]\ncommand = [\"x\"]", "1: the check has no limit"},
      {"peak = 1\ncommand = \"x\"", "2: command: give a list of texts"},
      {"peak = 1\ncommand = []", "no program given"},
      {"peak = 1\ncommand = [\"x\"]\nprofile = \"y\"", "not both"},
      {"growth_per_iteration = 1", "how many iterations is not said"},
      {"growth_per_iteration = 1\niterations = [5, 5]", "the larger one"},
      {"growth_per_iteration = 1\niterations = [1, 2, 3]", "one count, or two"},
      {"growth_per_iteration = 1\niterations = 0", "divided by 0"},
      {"growth_per_iteration = 1\niterations = [1, 5]\ncommand = [\"x\"]", "write {n} in command"},
      {"peak = 1\niterations = [1, 5]\nprofile = \"y\"", "there are two profiles"},
      {"peak = 1\nprofile = [\"x\", \"y\"]", "one profile is judged"},
      {"peak = 1\nrate = \"often\"", "'often' is not a rate"},
      {"peak = 1\nprocess = \"(\"", "process: "},
      {"peak = 1\nfollow = 1", "true or false"},
      {"fail_on = \"growth > 1\"", "there is no baseline"},
      {"baseline = \"x\"", "nothing is compared"},
      {"baseline = \"x\"\nfail_on = \"growth < 1\"", "2: fail_on: 'growth < 1': it has no '>'"},
      {"[[site]]\nlive = 1", "a site needs focus"},
      {"[[site]]\nfocus = \"x\"", "the site has no limit"},
      {"[[site]]\nfocus = \"x\"\nalloc_per_call = 1", "3: alloc_per_call: sampling does not count calls"},
      {"[[site]]\nfocus = \"x\"\nalloc_per_call = 1\ncalls = 0", "1 or more"},
      {"[[row]]\nby = \"modul\"\nlive = 1", "'modul' is not function"},
      {"[[row]]\nby = \"line\"", "the row has no limit"},
      {"[[check]]\nname = \"a\"\npeak = 1\n[[check]]\nname = \"a\"\npeak = 1",
       "4: a check called 'a' stands in line 1 already"},
      {"peak = \"1 MB", "not TOML"},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_THAT(error_of(text), AllOf(StartsWith("memprof.toml:"), HasSubstr(expected))) << text;
  }
}

TEST(LimitFile, NoFileSaysWhatToDo) {
  try {
    read_limit_file("/nonexistent/memprof.toml");
    FAIL();
  } catch (const Error& error) {
    EXPECT_THAT(error.what(),
                AllOf(StartsWith("/nonexistent/memprof.toml: cannot read it"), HasSubstr("--limits")));
  }
}

TEST(LimitFile, TheRateSuitsTheLimits) {
  const auto rate = [](const std::string& text) { return rate_for(parsed(text).checks[0]); };
  EXPECT_EQ(rate("peak = \"1 GB\""), 512u * 1024);
  EXPECT_EQ(rate("peak = \"1 GB\"\nlive = \"64 MB\""), 64u * 1024);
  EXPECT_EQ(rate("peak = \"256 KB\""), 0u);
  EXPECT_EQ(rate("peak = \"1 GB\"\nalloc_objects = 5"), 0u);
  EXPECT_EQ(rate("peak = \"1 GB\"\nalloc_objects = 5\nrate = \"16k\""), 16u * 1024);
  // What is allowed in all iterations together, or all calls.
  EXPECT_EQ(rate("growth_per_iteration = \"64 KB\"\niterations = [24, 1048]"), 64u * 1024);
  EXPECT_EQ(rate("alloc_per_iteration = \"64 KB\"\niterations = 1024"), 64u * 1024);
  EXPECT_EQ(rate("[[site]]\nfocus = \"x\"\nalloc_per_call = \"64 KB\"\ncalls = 1024"), 64u * 1024);
  EXPECT_EQ(rate("baseline = \"x\"\nfail_on = \"growth > 32MB\""), 32u * 1024);
  EXPECT_EQ(rate("baseline = \"x\"\nfail_on = \"growth > 10%\""), 512u * 1024);
}

}  // namespace
}  // namespace memprof::profile
