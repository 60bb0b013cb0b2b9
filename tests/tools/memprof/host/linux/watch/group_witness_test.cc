// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/watch/group_witness.h"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>

namespace memprof::cli {
namespace {

GroupWitness* g_witness = nullptr;
volatile sig_atomic_t g_seen = 0;
volatile sig_atomic_t g_unseen = 0;

void note(int signal) {
  (g_witness->saw(signal) ? g_seen : g_unseen) += 1;
}

// In a child that leads a group of its own; exits with the seen ones, and 16 for each unseen one.
template <typename Send>
int counted(const Send& send) {
  const pid_t child = fork();
  if (child == 0) {
    setpgid(0, 0);
    sigset_t all;
    sigset_t before;
    sigset_t ours;
    sigfillset(&all);
    sigemptyset(&ours);
    sigaddset(&ours, SIGUSR1);
    sigaddset(&ours, SIGUSR2);
    sigprocmask(SIG_SETMASK, &all, &before);
    {
      GroupWitness witness(ours);
      g_witness = &witness;
      signal(SIGUSR1, note);
      signal(SIGUSR2, note);
      sigprocmask(SIG_SETMASK, &before, nullptr);
      send();
      sigprocmask(SIG_SETMASK, &all, nullptr);
    }
    const bool has_children = waitpid(-1, nullptr, 0) > 0 || errno != ECHILD;
    _exit(has_children ? 255 : g_seen + 16 * g_unseen);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(GroupWitness, TellsWhatWasSentToAllFromWhatWasSentToOne) {
  EXPECT_EQ(counted([] { kill(0, SIGUSR1); }), 1);
  EXPECT_EQ(counted([] { kill(getpid(), SIGUSR1); }), 16);
  EXPECT_EQ(counted([] {
              for (int i = 0; i < 3; ++i) kill(0, SIGUSR1), kill(getpid(), SIGUSR2), kill(0, SIGUSR2);
            }),
            6 + 3 * 16);
}

TEST(GroupWitness, SaysNothingForWhatCameBefore) {
  EXPECT_EQ(counted([] {
              kill(0, SIGUSR2);
              kill(getpid(), SIGUSR1);
              kill(getpid(), SIGUSR2);
            }),
            1 + 2 * 16);
}

TEST(GroupWitness, WithoutAProcessNothingIsSeen) {
  EXPECT_EQ(counted([] {
              // The witness ends; what comes then was sent to one, as far as is known.
              kill(0, SIGUSR1);
              const pid_t self = getpid();
              for (pid_t pid = self + 1; pid < self + 50; ++pid) {
                if (getpgid(pid) == self) kill(pid, SIGKILL);
              }
              usleep(20'000);
              kill(0, SIGUSR1);
            }),
            1 + 16);
}

// As a kernel before 5.9, and glibc before 2.34.
bool refuse_close_range() {
  constexpr unsigned kCloseRange = 436;
  sock_filter filters[] = {{BPF_LD | BPF_W | BPF_ABS, 0, 0, 0},
                           {BPF_JMP | BPF_JEQ | BPF_K, 0, 1, kCloseRange},
                           {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ERRNO | ENOSYS},
                           {BPF_RET | BPF_K, 0, 0, SECCOMP_RET_ALLOW}};
  const sock_fprog program{4, filters};
  return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

// 1: who reads from a pipe sees its end, although the witness was forked while it was open.
int sees_the_end_of_a_pipe(bool is_old_kernel) {
  const pid_t child = fork();
  if (child == 0) {
    int ends[2];
    if ((is_old_kernel && !refuse_close_range()) || pipe(ends) != 0) _exit(100);
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    sigprocmask(SIG_SETMASK, &signals, nullptr);
    GroupWitness witness(signals);
    close(ends[1]);
    pollfd end{ends[0], POLLIN, 0};
    const int found = poll(&end, 1, 10'000);
    _exit(found == 1 && (end.revents & POLLHUP) != 0 ? 1 : 2);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST(GroupWitness, HoldsNobodysPipeOpen) {
  EXPECT_EQ(sees_the_end_of_a_pipe(false), 1);
  EXPECT_EQ(sees_the_end_of_a_pipe(true), 1);
}

}  // namespace
}  // namespace memprof::cli
