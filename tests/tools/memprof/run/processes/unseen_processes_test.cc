// SPDX-License-Identifier: Apache-2.0
#include "memprof/run/processes/unseen_processes.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "memprof/host/process/process_ids.h"
#include "memprof/host/process/running_process.h"
#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr char kFixtures[] = MEMPROF_FIXTURES;

// No other test, which may run at the same time, has it.
std::string own_token() {
  static const std::string token = std::to_string(getpid());
  return token;
}

class Child {
 public:
  // A child that does this, and goes on when it is told to.
  explicit Child(const std::function<void()>& begin) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) abort();
    go_ = ends[1];
    pid_ = fork();
    if (pid_ == 0) {
      close(ends[1]);
      char go = 0;
      static_cast<void>(!read(ends[0], &go, 1));
      begin();
      _exit(1);
    }
    close(ends[0]);
  }
  ~Child() {
    go();
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  void go() {
    if (go_ >= 0) close(go_);
    go_ = -1;
  }
  uint64_t pid() const { return static_cast<uint64_t>(pid_); }

 private:
  int go_ = -1;
  pid_t pid_ = -1;
};

void execute(const std::string& program, const char* variable) {
  const char* arguments[] = {program.c_str(), "wait", nullptr};
  const char* environment[] = {variable, nullptr};
  execve(program.c_str(), const_cast<char**>(arguments), const_cast<char**>(environment));
}

// Until it sees one, or for as many looks as are needed to say nothing.
std::vector<UnseenProcess> look(UnseenProcesses* unseen) {
  for (int looks = 0; looks < 200 && unseen->processes().empty(); ++looks) {
    unseen->look();
    usleep(20000);
  }
  return unseen->processes();
}

TEST(UnseenProcesses, SaysWhy) {
  const struct {
    std::string program;
    const char* variable;
    const char* why;
  } kKnown[] = {
      {"/bin/cat", "A=1", "was started without LD_PRELOAD"},
      {"/bin/cat", "LD_PRELOAD=/nowhere/libmemprof.so", "did not load libmemprof.so"},
      {std::string(kFixtures) + "/static_program", "LD_PRELOAD=libmemprof.so", "is statically linked"},
  };
  for (const auto& known : kKnown) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);  // cat waits for it
    Child child([&] {
      dup2(ends[0], STDIN_FILENO);
      dup2(open("/dev/null", O_WRONLY), STDOUT_FILENO);
      dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
      const char* program = known.program.c_str();
      const bool is_cat = known.program == "/bin/cat";
      const char* arguments[] = {program, is_cat ? "-" : "wait", nullptr};
      const char* environment[] = {known.variable, nullptr};
      execve(program, const_cast<char**>(arguments), const_cast<char**>(environment));
    });
    UnseenProcesses unseen(child.pid(), own_token(), true);
    child.go();
    // Until it executes the program it is this one, which has not the library either.
    std::vector<UnseenProcess> found;
    for (int looks = 0; looks < 200; ++looks) {
      unseen.look();
      found = unseen.processes();
      const bool is_executed =
          found.size() == 1 && known.program.find("/" + found[0].program) != std::string::npos;
      if (is_executed && found[0].why.find(known.why) != std::string::npos) break;
      usleep(20000);
    }
    ASSERT_THAT(found, SizeIs(1)) << known.why;
    EXPECT_EQ(found[0].pid, child.pid());
    EXPECT_EQ(found[0].program, known.program.substr(known.program.rfind('/') + 1));
    EXPECT_THAT(found[0].why, HasSubstr(known.why));
    close(ends[0]);
    close(ends[1]);
  }
}

TEST(UnseenProcesses, ThoseOfOthersAreNotOfTheRun) {
  Child started([] { pause(); });
  UnseenProcesses unseen(started.pid(), own_token(), true);
  Child other([] { execute("/bin/cat", "MEMPROF_RUN_TOKEN=54321"); });
  other.go();
  for (int looks = 0; looks < 8; ++looks) unseen.look();
  for (const UnseenProcess& process : unseen.processes()) EXPECT_EQ(process.pid, started.pid());
}

TEST(UnseenProcesses, ADaemonIsKnownByItsEnvironment) {
  Child started([] { pause(); });
  UnseenProcesses unseen(started.pid(), own_token(), true);
  const std::string variable = "MEMPROF_RUN_TOKEN=" + own_token();
  Child daemon([&] { execute(std::string(kFixtures) + "/static_program", variable.c_str()); });
  daemon.go();
  // What is no process of the run at first is none later: the environment comes from who started it.
  for (int n = 0; n < 500 && program_of(daemon.pid()) != "static_program"; ++n) usleep(10000);
  bool is_seen = false;
  for (int looks = 0; looks < 200 && !is_seen; ++looks) {
    unseen.look();
    for (const UnseenProcess& process : unseen.processes()) is_seen |= process.pid == daemon.pid();
    usleep(20000);
  }
  EXPECT_TRUE(is_seen);
}

TEST(UnseenProcesses, WithoutFollowingOnlyTheStartedOneCounts) {
  Child started([] {
    const pid_t parent = getpid();
    if (fork() == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(0);
    }
    pause();
  });
  UnseenProcesses unseen(started.pid(), own_token(), false);
  started.go();
  for (int looks = 0; looks < 8; ++looks) unseen.look();
  EXPECT_THAT(look(&unseen), SizeIs(1));
}

// Calls of read() by this thread; -1: the kernel does not count them.
int64_t read_calls() {
  std::ifstream file("/proc/thread-self/io");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("syscr: ", 0) == 0) return std::stoll(line.substr(7));
  }
  return -1;
}

// Of one look, of many: others on the machine start processes and threads meanwhile, whose ids it looks at, too.
int64_t min_read_calls(UnseenProcesses* unseen) {
  int64_t min_calls = std::numeric_limits<int64_t>::max();
  for (int looks = 0; looks < 100; ++looks) {
    const int64_t before = read_calls();
    unseen->look();
    min_calls = std::min(min_calls, read_calls() - before);
  }
  return min_calls;
}

TEST(UnseenProcesses, ALookCostsTheSameHoweverManyProcessesTheMachineHas) {
  if (read_calls() < 0) GTEST_SKIP() << "the kernel does not count calls";
  constexpr int kOthers = 150;
  std::vector<std::unique_ptr<Child>> others;
  for (int i = 0; i < kOthers; ++i) others.push_back(std::make_unique<Child>([] {}));
  Child started([] { pause(); });
  UnseenProcesses unseen(started.pid(), own_token(), true);
  for (int looks = 0; looks < 10; ++looks) unseen.look();
  // The last id that was given, and the process itself.
  EXPECT_LT(min_read_calls(&unseen), kOthers / 2);
}

TEST(UnseenProcesses, ALookCostsTheSameHoweverManyProcessesTheRunHas) {
  if (read_calls() < 0) GTEST_SKIP() << "the kernel does not count calls";
  constexpr int kOthers = 60;
  Child started([] {
    signal(SIGCHLD, SIG_IGN);  // nobody waits for them
    const pid_t parent = getpid();
    for (int i = 0; i < kOthers; ++i) {
      if (fork() == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        while (getppid() == parent) pause();
        _exit(0);
      }
    }
    pause();
  });
  // At once: where the numbers of processes begin again in between, it does not know which are new.
  UnseenProcesses unseen(started.pid(), own_token(), true);
  started.go();
  for (int looks = 0; looks < 500 && unseen.processes().size() <= kOthers; ++looks) {
    unseen.look_at_all();
    usleep(10000);
  }
  ASSERT_THAT(unseen.processes(), SizeIs(kOthers + 1));
  for (int looks = 0; looks < 10; ++looks) unseen.look();
  EXPECT_LT(min_read_calls(&unseen), kOthers / 2);
  // Who is gone is noticed all the same, in turn; at once where others start so many that all have to be looked at.
  for (const UnseenProcess& process : unseen.processes()) {
    const auto pid = static_cast<pid_t>(process.pid);
    if (process.pid == started.pid()) continue;
    kill(pid, SIGKILL);
    for (int n = 0; n < 1000 && kill(pid, 0) == 0; ++n) usleep(10000);
  }
  int news = 0;
  for (int looks = 0; looks < kOthers; ++looks) news += unseen.look().is_any ? 1 : 0;
  EXPECT_GE(news, 1);
  EXPECT_FALSE(unseen.look_at_all().is_any);
}

TEST(UnseenProcesses, ANewProcessOfTheRunIsSeenAtTheNextLooks) {
  UnseenProcesses unseen(own_process_id(), own_token(), true);
  unseen.look_at_all();
  const Child started([] { pause(); });
  bool is_seen = false;
  for (int looks = 0; looks < 3 && !is_seen; ++looks) {
    const std::vector<uint64_t> begun = unseen.look().begun;
    is_seen = std::find(begun.begin(), begun.end(), started.pid()) != begun.end();
  }
  EXPECT_TRUE(is_seen);
}

TEST(UnseenProcesses, WhoHasEndedDoesNotLive) {
  Child started([] { _exit(0); });
  timespec now{};
  clock_gettime(CLOCK_BOOTTIME, &now);
  const uint64_t start = static_cast<uint64_t>(now.tv_sec) * static_cast<uint64_t>(sysconf(_SC_CLK_TCK));
  EXPECT_TRUE(UnseenProcesses::lives(started.pid(), start));
  EXPECT_FALSE(UnseenProcesses::lives(started.pid(), start - 1000)) << "another one, before it";
  started.go();
  siginfo_t ended{};
  EXPECT_EQ(waitid(P_PID, static_cast<id_t>(started.pid()), &ended, WEXITED | WNOWAIT), 0);
  EXPECT_FALSE(UnseenProcesses::lives(started.pid(), start)) << "nobody waited for it, but it has ended";
}

TEST(UnseenProcesses, OfAProcessThatIsNotThereThereIsNothing) {
  UnseenProcesses unseen(uint64_t{1} << 31, "1", true);
  unseen.look();
  EXPECT_THAT(unseen.processes(), IsEmpty());
}

}  // namespace
}  // namespace memprof::cli
