// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/thread/stop_moment.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include <ctime>

#include "memprof/attach/linux/thread/thread_facts.h"
#include "memprof/attach/linux/thread/traced_thread.h"
#include "tests/tools/memprof/attach/linux/target_process.h"

namespace memprof::cli {
namespace {

using testing_tools::TargetProcess;

processor::WaitingCall call(long number, uint64_t third = 0, uint64_t fourth = 0) {
  processor::WaitingCall call;
  call.number = number;
  call.arguments[2] = third;
  call.arguments[3] = fourth;
  return call;
}

void sleep_ns(int64_t ns) {
  const timespec time{0, static_cast<long>(ns)};
  nanosleep(&time, nullptr);
}

TEST(StopMoment, CallsThatMoveAPart) {
  for (const long number : {SYS_write, SYS_writev, SYS_sendto, SYS_sendmsg, SYS_sendfile, SYS_copy_file_range,
                            SYS_splice, SYS_io_uring_enter, SYS_getrandom}) {
    EXPECT_TRUE(is_cut_by_stops(call(number))) << number;
  }
  for (const long number : {SYS_read, SYS_futex, SYS_recvfrom, SYS_recvmsg, SYS_ppoll}) {
    EXPECT_FALSE(is_cut_by_stops(call(number))) << number;
  }
  EXPECT_TRUE(is_cut_by_stops(call(SYS_recvfrom, 0, MSG_WAITALL)));
  EXPECT_TRUE(is_cut_by_stops(call(SYS_recvmsg, MSG_WAITALL)));
  EXPECT_FALSE(is_cut_by_stops(call(-1)));
}

TEST(StopMoment, AWaitIsOneAtOnce) {
  NEEDS_PTRACE();
  TargetProcess process({"nanosleep"});
  EXPECT_TRUE(wait_for_moment(static_cast<pid_t>(process.pid()), 1'000'000'000, sleep_ns));
  EXPECT_TRUE(wait_for_moment_of_all(process.pid(), 1'000'000'000));
  EXPECT_EQ(process.finish(), "ok");
}

// It checks what each of them moves.
TEST(StopMoment, TransfersAreNotCut) {
  NEEDS_PTRACE();
  for (const char* what : {"write_pipe", "send_all", "receive_all", "random"}) {
    SCOPED_TRACE(what);
    TargetProcess process({what});
    for (int round = 0; round < 10; ++round) {
      const auto id = static_cast<pid_t>(process.pid());
      EXPECT_TRUE(wait_for_moment(id, 5'000'000'000, sleep_ns));
      TracedThread thread(id);
      EXPECT_EQ(thread.interrupt(3'000'000'000), TracedThread::Stop::kEvent);
    }
    EXPECT_EQ(process.finish(), "ok");
  }
}

}  // namespace
}  // namespace memprof::cli
