// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/process_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

#include "memprof/host/linux/process/proc_path.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;

TEST(ProcessFacts, OfAProgramThatWaits) {
  const testing_tools::Folder folder;
  testing_tools::Process process(folder, {testing_tools::fixture("program"), "wait"}, {{"DOCTOR", "a=b"}});
  ASSERT_TRUE(process.wait_for("ready"));
  const ProcessFacts facts = read_process_facts(static_cast<uint64_t>(process.pid()));
  EXPECT_EQ(facts.error, 0);
  EXPECT_THAT(facts.modules, Contains(EndsWith("/program")));
  EXPECT_THAT(facts.modules, Contains(HasSubstr("/libc")));
  for (const std::string& module : facts.modules) EXPECT_EQ(module[0], '/') << module;
  EXPECT_EQ(facts.environment.at("DOCTOR"), "a=b");
  EXPECT_FALSE(facts.has_other_root);
  EXPECT_FALSE(facts.has_other_pids);
  kill(process.pid(), SIGKILL);
  process.end();
}

// Runs `change` in a child, and reads the facts of it.
template <typename Change>
ProcessFacts facts_of_child(const Change& change) {
  int ready[2];
  EXPECT_EQ(pipe(ready), 0);
  const pid_t child = fork();
  if (child == 0) {
    const bool done = change();
    const char byte = done ? 1 : 0;
    static_cast<void>(write(ready[1], &byte, 1) == 1);
    while (true) static_cast<void>(read(ready[0], nullptr, 0) == 0);  // what strict mode allows
  }
  char done = 0;
  EXPECT_EQ(read(ready[0], &done, 1), 1);
  EXPECT_EQ(done, 1);
  ProcessFacts facts = read_process_facts(static_cast<uint64_t>(child));
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  close(ready[0]);
  close(ready[1]);
  return facts;
}

TEST(ProcessFacts, LimitsAndSandboxes) {
  const ProcessFacts limited = facts_of_child([] {
    const rlimit files{1 << 20, 1 << 20};
    const rlimit memory{rlim_t{1} << 40, rlim_t{1} << 40};
    return setrlimit(RLIMIT_FSIZE, &files) == 0 && setrlimit(RLIMIT_AS, &memory) == 0;
  });
  EXPECT_EQ(limited.file_size_limit_bytes, uint64_t{1} << 20);
  EXPECT_EQ(limited.address_space_limit_bytes, uint64_t{1} << 40);
  const ProcessFacts strict = facts_of_child([] { return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0; });
  EXPECT_EQ(strict.seccomp_mode, 1);
}

TEST(ProcessFacts, OfWhatIsNotThere) {
  EXPECT_EQ(read_process_facts(2147483647).error, ENOENT);
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t info;
  waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT);
  EXPECT_EQ(read_process_facts(static_cast<uint64_t>(child)).error, ESRCH);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(proc_path(12, "maps"), "/proc/12/maps");
}

}  // namespace
}  // namespace memprof::cli
