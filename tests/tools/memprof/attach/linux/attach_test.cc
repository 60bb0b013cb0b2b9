// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/attach.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "memprof.h"
#include "memprof/attach/linux/target/survey.h"
#include "memprof/console/failure.h"
#include "tests/tools/memprof/attach/linux/target_process.h"

namespace memprof::cli {
namespace {

using testing_tools::fixture;
using testing_tools::TargetProcess;

AttachOptions options() {
  AttachOptions options;
  options.library = fixture("stand_in.so");
  options.rate_bytes = 12345;
  return options;
}

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const Failure& failure) {
    EXPECT_EQ(failure.status(), kRefused);
    return failure.what();
  }
  return "not refused";
}

// What the library in the process was asked for.
struct Asked {
  uint64_t mark = 0;
  int64_t inits = 0, prepares = 0, starts = 0, stops = 0;
  uint64_t rate_bytes = 0;
  memprof_options options = {};
  uint64_t beyond[32 - sizeof(memprof_options) / 8] = {};
};

Asked asked_of(uint64_t pid) {
  int error = 0;
  const TargetMemory memory(pid, TargetMemory::Access::kRead);
  for (const MemoryRange& range : memory_ranges(pid, &error)) {
    if (!range.is_writable || range.path.find("stand_in.so") == std::string::npos) continue;
    for (uint64_t at = range.start; at + sizeof(Asked) <= range.end; at += 8) {
      Asked asked;
      if (memory.read(at, &asked, sizeof(asked)) && asked.mark == 0x5354414e44494e21) return asked;
    }
  }
  return {};
}

TEST(Attach, LoadsStartsAndStops) {
  NEEDS_PTRACE();
  TargetProcess target({"malloc"});
  const AttachResult result = attach_and_start(target.pid(), options());
  EXPECT_FALSE(result.was_loaded);
  EXPECT_FALSE(result.used_memory_file);
  EXPECT_GE(result.stops, 3);
  Asked asked = asked_of(target.pid());
  EXPECT_EQ(asked.inits, 2);  // the second one finds it as it is
  EXPECT_EQ(asked.prepares, 1);
  EXPECT_EQ(asked.starts, 1);
  EXPECT_EQ(asked.rate_bytes, 12345u);
  attach_and_stop(target.pid(), options());
  AttachOptions other = options();
  other.rate_bytes = 777;
  EXPECT_TRUE(attach_and_start(target.pid(), other).was_loaded);
  asked = asked_of(target.pid());
  EXPECT_EQ(asked.prepares, 1);
  EXPECT_EQ(asked.starts, 2);
  EXPECT_EQ(asked.stops, 1);
  EXPECT_EQ(asked.rate_bytes, 777u);
  EXPECT_NE(refusal([&] { attach_and_stop(target.pid(), options()); }).find("is not at work there"),
            std::string::npos);
  EXPECT_EQ(target.finish(), "ok");
}

TEST(Attach, OptionsOfTheLibrary) {
  NEEDS_PTRACE();
  TargetProcess plain({"nanosleep"});
  attach_and_start(plain.pid(), options());
  EXPECT_EQ(asked_of(plain.pid()).options.struct_size, sizeof(memprof_options));
  EXPECT_EQ(asked_of(plain.pid()).options.mappings, 0u);
  TargetProcess mapping({"nanosleep"});
  AttachOptions with_mappings = options();
  with_mappings.mappings = true;
  attach_and_start(mapping.pid(), with_mappings);
  EXPECT_EQ(asked_of(mapping.pid()).options.mappings, 1u);
}

TEST(Attach, WaitsAreNotChanged) {
  NEEDS_PTRACE();
  for (const char* wait : {"nanosleep", "clock_nanosleep", "futex", "poll", "ppoll", "select", "epoll_wait",
                           "sigtimedwait", "semtimedop", "receive"}) {
    SCOPED_TRACE(wait);
    TargetProcess target({wait});
    attach_and_start(target.pid(), options());
    attach_and_stop(target.pid(), options());
    for (int round = 0; round < 3; ++round) attach_and_start(target.pid(), options());
    EXPECT_EQ(target.finish(), "ok");
  }
}

TEST(Attach, ProgramsThatAreInUnsafeCodeMostly) {
  NEEDS_PTRACE();
  for (const std::vector<std::string>& what :
       std::vector<std::vector<std::string>>{{"malloc"},
                                             {"dlopen", "libresolv.so.2"},
                                             {"fork"},
                                             {"threads"},
                                             {"errno"},
                                             {"calculate"},
                                             {"traps"}}) {
    SCOPED_TRACE(what[0]);
    TargetProcess target(what);
    for (int round = 0; round < 5; ++round) attach_and_start(target.pid(), options());
    EXPECT_EQ(asked_of(target.pid()).starts, 5);
    EXPECT_EQ(target.finish(), "ok");
  }
}

constexpr uint64_t kFewLooks = 20;  // some milliseconds

// In a process of its own, which is killed at that step.  false: there is no such step.
bool attach_and_die(uint64_t pid, int step) {
  const pid_t child = fork();
  if (child == 0) {
    AttachOptions dying = options();
    dying.times.looks = kFewLooks;
    dying.force = true;
    int left = step;
    dying.observer = [&left](const char*) {
      if (left-- == 0) kill(getpid(), SIGKILL);
    };
    try {
      attach_and_start(pid, dying);
    } catch (...) {
      _exit(3);
    }
    _exit(0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << step;
  return WIFSIGNALED(status);
}

TEST(Attach, KilledAtAnyStep) {
  NEEDS_PTRACE();
  int step = 0;
  for (bool is_there = true; is_there; ++step) {
    ASSERT_LT(step, 100);
    SCOPED_TRACE(step);
    TargetProcess target({"calculate"});
    is_there = attach_and_die(target.pid(), step);
    // It goes on by itself, if only after the time that the calls wait for their attacher.
    EXPECT_EQ(target.finish(), "ok");
  }
  EXPECT_GE(step, 27);
}

// As where it is stopped by SIGSTOP, or in a frozen group, or swapped out: the thread does not wait for it.
TEST(Attach, LateAtAnyStep) {
  NEEDS_PTRACE();
  bool is_there = true;
  int step = 0;
  for (; is_there; ++step) {
    ASSERT_LT(step, 100);
    SCOPED_TRACE(step);
    TargetProcess target({"calculate"});
    AttachOptions late = options();
    late.times.looks = kFewLooks;
    int left = step;
    std::string late_at;
    late.observer = [&](const char* name) {
      if (left-- != 0) return;
      late_at = name;
      usleep(30'000);
    };
    try {
      attach_and_start(target.pid(), late);
    } catch (const Failure& failure) {
      // Of another thread than the first one, which made the calls on its own stack, results cannot be read then.
      EXPECT_NE(std::string(failure.what()).find("try again"), std::string::npos) << failure.what();
      if (asked_of(target.pid()).starts == 0) attach_and_start(target.pid(), options());
    }
    is_there = !late_at.empty();
    EXPECT_EQ(asked_of(target.pid()).starts, 1) << late_at;
    EXPECT_EQ(target.finish(), "ok") << late_at;
  }
  EXPECT_GE(step, 27);
}

// Where no page can be unmapped (a filter), a command that is killed then must not leave that call's errno behind.
TEST(Attach, ErrnoOfACallThatIsRefusedStaysWithUs) {
  NEEDS_PTRACE();
  int step = 0;
  for (bool is_there = true; is_there; ++step) {
    ASSERT_LT(step, 100);
    SCOPED_TRACE(step);
    TargetProcess target({"refused_unmap"});
    is_there = attach_and_die(target.pid(), step);
    EXPECT_EQ(target.finish(), "ok");
  }
}

// A filter may answer any call of the stub's own, such as its pauses, with an error.
TEST(Attach, PausesThatAreRefused) {
  NEEDS_PTRACE();
  for (const char* what : {"refused_wait", "traced_wait"}) {
    SCOPED_TRACE(what);
    TargetProcess target({what});
    AttachOptions forced = options();
    forced.force = true;
    for (int round = 0; round < 20; ++round) attach_and_start(target.pid(), forced);
    EXPECT_EQ(asked_of(target.pid()).starts, 20);
    EXPECT_EQ(target.finish(), "ok");
  }
}

// Its first thread is always in one; another one makes the calls, on its own stack.
TEST(Attach, ATransferIsNotCutShort) {
  NEEDS_PTRACE();
  for (const char* what : {"write_pipe", "send_all", "receive_all"}) {
    SCOPED_TRACE(what);
    TargetProcess target({what, "without a pause"});
    for (int round = 0; round < 3; ++round) attach_and_start(target.pid(), options());
    EXPECT_EQ(asked_of(target.pid()).starts, 3);
    EXPECT_EQ(target.finish(), "ok");
  }
}

TEST(Attach, LibrariesThatCannotBeLoaded) {
  NEEDS_PTRACE();
  TargetProcess target({"nanosleep"});
  const testing_tools::Folder folder;
  AttachOptions broken = options();
  broken.library = folder / "broken.so";
  testing_tools::write_file(broken.library, "no library");
  EXPECT_NE(refusal([&] { attach_and_start(target.pid(), broken); }).find("file too short"),
            std::string::npos);
  broken.library = "libresolv.so.2";
  broken.library = fixture("libjli.so");
  EXPECT_NE(refusal([&] { attach_and_start(target.pid(), broken); }).find("is no library of memprof"),
            std::string::npos);
  EXPECT_EQ(target.finish(), "ok");
}

TEST(Attach, NothingToStop) {
  TargetProcess target({"nanosleep"});
  EXPECT_NE(refusal([&] { attach_and_stop(target.pid(), options()); }).find("is not loaded there"),
            std::string::npos);
  EXPECT_EQ(target.finish(), "ok");
}

}  // namespace
}  // namespace memprof::cli
