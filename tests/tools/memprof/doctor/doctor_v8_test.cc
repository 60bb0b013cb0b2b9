// SPDX-License-Identifier: Apache-2.0
// What memprof really sees of node: tests/e2e/node_test.py.
#include "memprof/doctor/doctor_v8.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "memprof.h"
#include "tests/tools/memprof/doctor.h"
#include "tests/tools/memprof/elf.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;
using testing_tools::fixture;
using testing_tools::program;

Check v8_check_of(const ProgramFiles& files) {
  return testing_tools::only_check(check_v8, files);
}

TEST(DoctorV8, FactsOfFiles) {
  const V8Facts known = testing_tools::facts_in(fixture("v8_11"), read_v8_facts);
  EXPECT_TRUE(known.has_functions() && known.can_have_lines && known.runs_addons);
  EXPECT_EQ("11.3.244", known.version);
  const V8Facts newer = testing_tools::facts_in(fixture("v8_99"), read_v8_facts);
  EXPECT_TRUE(newer.has_functions());
  EXPECT_FALSE(newer.can_have_lines);
  const V8Facts hidden = testing_tools::facts_in(fixture("v8_hidden"), read_v8_facts);
  EXPECT_TRUE(hidden.is_there);
  EXPECT_FALSE(hidden.has_functions());
  EXPECT_EQ("", hidden.version);
  const V8Facts other = testing_tools::facts_in(fixture("other_engine"), read_v8_facts);
  EXPECT_TRUE(other.runs_addons);
  EXPECT_FALSE(other.is_there);
  EXPECT_FALSE(testing_tools::facts_in(fixture("program"), read_v8_facts).runs_addons);
}

TEST(DoctorV8, NothingIsSaidOfOtherPrograms) {
  Checks checks;
  check_v8(program("program"), &checks);
  check_v8(program("python_3_11"), &checks);
  EXPECT_TRUE(checks.all().empty());
}

TEST(DoctorV8, VersionsAndWhereTheyAre) {
  Check check = v8_check_of(program("v8_11"));
  EXPECT_EQ(check.verdict, Verdict::kYes);
  EXPECT_EQ(check.name, "V8");
  EXPECT_THAT(check.found,
              StartsWith("V8 11.3.244: functions, files and lines of JavaScript will be in stacks"));
  EXPECT_THAT(check.found, HasSubstr("the npm package"));
  EXPECT_THAT(v8_check_of(program("v8_99")).found,
              HasSubstr("99.1.244: functions and files will be in stacks"));
  ProgramFiles stub = program("program");
  stub.libraries = {"/no/such/library.so", fixture("v8_11")};
  EXPECT_THAT(v8_check_of(stub).found, StartsWith("V8 11.3.244 in v8_11: "));
}

TEST(DoctorV8, WhatIsNotSeenIsSaidWithItsReason) {
  Check check = v8_check_of(program("v8_hidden"));
  EXPECT_EQ(check.verdict, Verdict::kNote);
  EXPECT_THAT(check.found, StartsWith("V8: stacks are native ones only, because it does not export "
                                      "v8::Isolate::GetStackSample"));
  EXPECT_THAT(check.to_do, HasSubstr("nodejs.org"));
  check = v8_check_of(program("other_engine"));
  EXPECT_EQ(check.verdict, Verdict::kNote);
  EXPECT_THAT(check.found, HasSubstr("an engine that is not V8"));
  ProgramFiles files = program("v8_11");
  files.memprof_node = "0";
  check = v8_check_of(files);
  EXPECT_EQ(check.verdict, Verdict::kNote);
  EXPECT_THAT(check.found, HasSubstr("left alone (MEMPROF_NODE=0)"));
}

TEST(DoctorV8, OfAProcessTheLibraryKnowsBetter) {
  ProgramFiles files = program("v8_11");
  files.runtimes_seen.emplace();
  memprof_runtime_stats& seen = (*files.runtimes_seen)[MEMPROF_RUNTIME_V8 - 1];
  EXPECT_THAT(v8_check_of(files).found, HasSubstr("will be in stacks"));
  seen = {0x0b03, MEMPROF_OBJECTS_NONE, MEMPROF_STACKS_READ, 0};
  EXPECT_THAT(v8_check_of(files).found, HasSubstr("its functions and lines are in stacks"));
  seen.stacks = MEMPROF_STACKS_UNKNOWN_LAYOUT;
  EXPECT_EQ(v8_check_of(files).verdict, Verdict::kNote);
}

}  // namespace
}  // namespace memprof::cli
