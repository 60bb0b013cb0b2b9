// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/target/survey.h"

#include <gtest/gtest.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>

#include "memprof/console/failure.h"
#include "tests/tools/memprof/attach/linux/target_process.h"

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
  EXPECT_NE(target.sigreturn_code, 0u);
  EXPECT_NE(target.system_call_code, 0u);
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

#if defined(__x86_64__)
TEST(Survey, ProgramsWithoutGlibc) {
  NEEDS_PTRACE();
  TargetProcess linked({}, "tiny_static");
  EXPECT_TRUE(has(refusal(linked.pid()), "is linked statically"));
  EXPECT_EQ(linked.finish(), "ok");

  const std::string loader = fixture("ld-musl-x86_64.so.1");  // as musl installs it
  unlink(loader.c_str());
  ASSERT_EQ(symlink("tiny_libc.so", loader.c_str()), 0);
  TargetProcess musl({}, "tiny_musl");
  EXPECT_TRUE(has(refusal(musl.pid()), "(tiny_musl) uses a musl that memprof does not know; start"));
  EXPECT_EQ(musl.finish(), "ok");
}

TEST(Survey, ProgramsOf32Bits) {
  const std::string path = fixture("tiny_32");
  if (system((path + " </dev/null >/dev/null 2>&1").c_str()) != 0) GTEST_SKIP() << "not run by this kernel";
  TargetProcess process({}, "tiny_32");
  EXPECT_TRUE(has(refusal(process.pid()), "(tiny_32) is a program of 32 bits; memprof has no library"));
  EXPECT_EQ(process.finish(), "ok");
}
#endif

// Of a user without rights, who asks of a process that is not his.
TEST(Survey, ProcessesOfOthers) {
  constexpr uid_t kNobody = 65534;
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const uint64_t other = geteuid() == 0 ? static_cast<uint64_t>(getpid()) : 1;
  const pid_t child = fork();
  if (child == 0) {
    if (geteuid() == 0 && setuid(kNobody) != 0) _exit(1);
    const std::string said = refusal(other);
    _exit(write(ends[1], said.data(), said.size()) == static_cast<ssize_t>(said.size()) ? 0 : 1);
  }
  close(ends[1]);
  std::string said(1000, '\0');
  said.resize(static_cast<size_t>(std::max<ssize_t>(read(ends[0], said.data(), said.size()), 0)));
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(has(said, "is not yours: permission denied; try as its user, or as root")) << said;
}

TEST(Survey, StrictMode) {
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Child child([&] {
    char byte;
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT) == 0) static_cast<void>(read(ends[0], &byte, 1));
  });
  close(ends[0]);
  while (status_field(child.pid(), "Seccomp") != "1" && status_field(child.pid(), "State")[0] != 'Z')
    usleep(1000);
  if (status_field(child.pid(), "Seccomp") != "1") GTEST_SKIP() << "no seccomp here";
  EXPECT_TRUE(has(refusal(child.pid()), "is under seccomp's strict mode"));
  close(ends[1]);
}

// What a set-uid program runs as: AT_SECURE.
TEST(Survey, ProgramsWithRightsOfTheirOwn) {
  NEEDS_PTRACE();
  if (geteuid() != 0) GTEST_SKIP() << "only root can give such rights";
  const testing_tools::Folder folder;
  const std::string program = folder / "attached";
  std::filesystem::copy_file(fixture("attached"), program);
  std::filesystem::permissions(folder.path(), std::filesystem::perms(0755));
  ASSERT_EQ(chown(program.c_str(), 65534, 65534), 0);
  ASSERT_EQ(chmod(program.c_str(), 04755), 0);
  TargetProcess process({"nanosleep"}, program);
  if (status_field(process.pid(), "Uid").find("65534") == std::string::npos) {
    GTEST_SKIP() << "no set-uid programs here";
  }
  EXPECT_TRUE(has(refusal(process.pid()), "was started with rights that its caller has not (set-uid)"));
  EXPECT_EQ(process.finish(), "ok");
}

TEST(Survey, AFirstThreadThatHasEnded) {
  TargetProcess process({"end"});
  while (status_field(process.pid(), "State")[0] != 'Z') usleep(1000);
  EXPECT_TRUE(has(refusal(process.pid()), "without its first thread"));
  EXPECT_EQ(process.finish(), "ok");
}

TEST(Survey, WhoTracesAProcessThatWasFreeWhenItWasLookedAt) {
  NEEDS_PTRACE();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  const Child tracer([&] {
    const pid_t inner = fork();
    if (inner == 0) {
      close(ends[1]);  // so that who reads sees the end where this process may not trace
      pause();
    }
    if (ptrace(PTRACE_SEIZE, inner, nullptr, PTRACE_O_EXITKILL) == 0 &&
        write(ends[1], &inner, sizeof(inner)) > 0) {
      pause();
    }
    kill(inner, SIGKILL);
  });
  close(ends[1]);
  pid_t traced = 0;
  ASSERT_EQ(read(ends[0], &traced, sizeof(traced)), static_cast<ssize_t>(sizeof(traced)));
  close(ends[0]);
  const std::string said = ptrace_refusal(static_cast<uint64_t>(traced), "process 7", EPERM);
  EXPECT_TRUE(has(said, "process 7 is traced by process " + std::to_string(tracer.pid()))) << said;
  EXPECT_EQ(kill(traced, SIGKILL), 0);
}

TEST(Survey, WhyPtraceIsRefused) {
  EXPECT_TRUE(has(ptrace_refusal(0, "process 7", ESRCH), "process 7 has ended"));
  const auto here = static_cast<uint64_t>(getpid());
  EXPECT_TRUE(has(ptrace_refusal(here, "process 7", EPERM), "may not be traced: operation not permitted"));
}

TEST(Survey, OfAProcessThatEndedAfterALookThatIsWhy) {
  const pid_t child = fork();
  if (child == 0) _exit(0);
  siginfo_t ended;
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | WNOWAIT), 0);
  const std::string said = ptrace_refusal(static_cast<uint64_t>(child), "process 7", EPERM);
  EXPECT_EQ(said, "attach: process 7 has ended");
  EXPECT_EQ(waitpid(child, nullptr, 0), child);
}

}  // namespace
}  // namespace memprof::cli
