// SPDX-License-Identifier: Apache-2.0
#include "memprof/doctor/doctor_runtime.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;

constexpr uint32_t kId = 4;

std::vector<Check> checks_of(memprof_runtime_stats seen) {
  ProgramFiles files;
  files.runtimes_seen.emplace();
  (*files.runtimes_seen)[kId - 1] = seen;
  (*files.runtimes_seen)[MEMPROF_RUNTIME_CPYTHON - 1] = {0x030b, MEMPROF_OBJECTS_HOOKED, MEMPROF_STACKS_READ,
                                                         0};
  Checks checks;
  check_other_runtimes(files, &checks);
  return checks.all();
}

TEST(DoctorRuntime, SaysWhatIsSeenOfARuntime) {
  std::vector<Check> checks = checks_of({0x0204, MEMPROF_OBJECTS_BY_MALLOC, MEMPROF_STACKS_READ, 0});
  ASSERT_EQ(checks.size(), 1u) << "CPython has a check of its own";
  EXPECT_EQ(checks[0].verdict, Verdict::kYes);
  EXPECT_EQ(checks[0].name, "runtime 4");
  EXPECT_EQ(
      checks[0].found,
      "runtime 4 2.4: its functions and lines are in stacks; its objects come from malloc, and are seen "
      "there");
  checks = checks_of({0x0204, MEMPROF_OBJECTS_HOOKED, MEMPROF_STACKS_UNKNOWN_VERSION, 0});
  ASSERT_EQ(checks.size(), 1u);
  EXPECT_EQ(checks[0].verdict, Verdict::kNote);
  EXPECT_THAT(checks[0].found, HasSubstr("does not know this version; its objects are seen by hooks"));
  EXPECT_NE(checks[0].to_do, "");
}

TEST(DoctorRuntime, NothingIsSaidOfOneThatIsNotThere) {
  EXPECT_TRUE(checks_of({0, MEMPROF_OBJECTS_NONE, MEMPROF_STACKS_NONE, 0}).empty());
  Checks checks;
  check_other_runtimes(ProgramFiles(), &checks);
  EXPECT_TRUE(checks.all().empty()) << "a program that does not run";
}

}  // namespace
}  // namespace memprof::cli
