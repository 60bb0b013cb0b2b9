// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/target/survey.h"

#include <gtest/gtest.h>
#include <sys/ptrace.h>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/attach/target_process.h"

namespace memprof::cli {
namespace {

using testing_tools::fixture;
using testing_tools::TargetProcess;

std::string refusal(uint64_t pid) {
  try {
    survey(pid);
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status(), kRefused);
    return failure.what();
  }
  return "not refused";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

// Executes a program that sleeps, or does something else.
class Child {
 public:
  template <typename Work>
  explicit Child(const Work& work) : pid_(fork()) {
    if (pid_ != 0) return;
    work();
    _exit(99);
  }
  ~Child() {
    kill(pid_, SIGKILL);
    kill(pid_, SIGCONT);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  uint64_t pid() const { return static_cast<uint64_t>(pid_); }

 private:
  pid_t pid_;
};

TEST(Survey, FindsWhatIsCalled) {
  NEEDS_PTRACE();
  TargetProcess process({"nanosleep"});
  const Target target = survey(process.pid());
  for (const char* name : {"dlopen", "dlsym", "mmap", "__errno_location"})
    EXPECT_NE(target.call(name), 0u) << name;
  EXPECT_NE(target.sigreturn_code, 0u);
  EXPECT_TRUE(target.memprof.empty());
  EXPECT_EQ(target.shown, "process " + std::to_string(process.pid()) + " (attached)");
  // Of two of its functions, malloc is unsafe.
  EXPECT_EQ(target.unsafe.at(target.call("mmap")), nullptr);
  EXPECT_NE(target.unsafe.at(target.call("dlopen")), nullptr);
}

TEST(Survey, ProcessesThatAreNotThere) {
  EXPECT_TRUE(has(refusal(4'000'000'000), "process 4000000000 does not exist"));
  EXPECT_TRUE(has(refusal(static_cast<uint64_t>(getpid())), "this command itself"));
  const Child zombie([] { _exit(0); });
  while (status_field(zombie.pid(), "State")[0] != 'Z') usleep(1000);
  EXPECT_TRUE(has(refusal(zombie.pid()), "has ended"));
}

TEST(Survey, StoppedAndTraced) {
  NEEDS_PTRACE();
  const Child child([] { pause(); });
  ASSERT_EQ(ptrace(PTRACE_SEIZE, child.pid(), nullptr, nullptr), 0);
  EXPECT_TRUE(has(refusal(child.pid()), "is traced by process " + std::to_string(getpid())));
  const Child stopped([] { pause(); });
  kill(static_cast<pid_t>(stopped.pid()), SIGSTOP);
  while (status_field(stopped.pid(), "State")[0] != 'T') usleep(1000);
  EXPECT_TRUE(has(refusal(stopped.pid()), "is stopped; let it go on with `kill -CONT"));
}

TEST(Survey, ProgramsThatCannotLoadALibrary) {
  NEEDS_PTRACE();
  const TargetProcess linked({"nanosleep"}, "static_attached");
  EXPECT_TRUE(has(refusal(linked.pid()), "is linked statically"));
  const TargetProcess own({"nanosleep"}, "attached_with_malloc");
  EXPECT_TRUE(has(refusal(own.pid()), "brings a malloc of its own"));
}

TEST(Survey, AFirstThreadThatHasEnded) {
  TargetProcess process({"end"});
  while (status_field(process.pid(), "State")[0] != 'Z') usleep(1000);
  EXPECT_TRUE(has(refusal(process.pid()), "without its first thread"));
  EXPECT_EQ(process.finish(), "ok");
}

TEST(Survey, WhyPtraceIsRefused) {
  EXPECT_TRUE(has(ptrace_refusal("process 7", ESRCH), "process 7 has ended"));
  EXPECT_TRUE(has(ptrace_refusal("process 7", EPERM), "may not be traced: operation not permitted"));
}

}  // namespace
}  // namespace memprof::cli
