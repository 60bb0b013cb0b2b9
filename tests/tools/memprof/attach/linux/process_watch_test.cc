// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/process_watch.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../process.h"

namespace memprof::cli {
namespace {

using testing_tools::Folder;
using testing_tools::read_file;
using testing_tools::write_file;

RunningProcess process_with(pid_t pid, const std::string& arena) {
  RunningProcess process;
  process.pid = static_cast<uint64_t>(pid);
  process.arena = arena;
  return process;
}

TEST(ProcessWatch, Time) {
  const Folder folder;
  write_file(folder / "memprof-1-2-3.arena", "data");
  ProcessWatch watch(process_with(getpid(), folder / "memprof-1-2-3.arena"));
  EXPECT_EQ(watch.wait(0.02), ProcessWatch::End::kTime);
  EXPECT_EQ(watch.process().arena, folder / "memprof-1-2-3.arena");
}

TEST(ProcessWatch, Signal) {
  const Folder folder;
  write_file(folder / "memprof-1-2-3.arena", "data");
  ProcessWatch watch(process_with(getpid(), folder / "memprof-1-2-3.arena"));
  raise(SIGTERM);  // to this thread: others of the tests may not block it
  EXPECT_EQ(watch.wait(60), ProcessWatch::End::kSignal);
  // It was meant for the wait: nothing is left of it.
  const timespec now{0, 0};
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  EXPECT_EQ(sigtimedwait(&set, nullptr, &now), -1);
}

TEST(ProcessWatch, KeepsTheArenaOfAProcessThatEnds) {
  const Folder folder;
  const std::string arena = folder / "memprof-1-2-3.arena";
  const std::string data = "begin" + std::string(size_t{3} << 20, '\0') + "end";
  write_file(arena, data);
  int begin[2] = {-1, -1};
  ASSERT_EQ(pipe(begin), 0);
  const pid_t child = fork();
  if (child == 0) {
    char go = 0;
    static_cast<void>(!read(begin[0], &go, 1));
    unlink(arena.c_str());
    _exit(0);
  }
  ProcessWatch watch(process_with(child, arena));
  EXPECT_EQ(write(begin[1], "x", 1), 1);
  EXPECT_EQ(watch.wait(60), ProcessWatch::End::kProcessEnded);
  EXPECT_NE(watch.process().arena, arena);
  EXPECT_EQ(read_file(watch.process().arena), data);
  close(begin[0]);
  close(begin[1]);
  waitpid(child, nullptr, 0);
}

}  // namespace
}  // namespace memprof::cli
