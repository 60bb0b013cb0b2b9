// SPDX-License-Identifier: Apache-2.0
// The MEMPROF_DUMP_* variables, in a child each; whole programs are in tests/e2e/lost_test.py.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>

#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "dump/dump.h"
#include "platform/messages.h"
#include "profile/pprof/pprof_reader.h"
#include "tests/support/engine.h"
#include "tests/support/folder.h"

namespace memprof::dump_test {
namespace {

using ::testing::HasSubstr;
using testing_support::FakeStack;
using testing_support::hooked_allocation;
using testing_support::in_child;
using testing_support::read_file;
using testing_support::TemporaryFolder;

// What is said on standard error while `body` runs in a child.
std::string said_in_child(const TemporaryFolder& folder, const std::function<void()>& body) {
  const std::string path = folder.path("stderr");
  in_child([&] {
    const int saved = dup(STDERR_FILENO);
    dup2(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600), STDERR_FILENO);
    platform::remember_standard_error();
    body();
    dup2(saved, STDERR_FILENO);
  });
  return read_file(path);
}

Configuration configuration_of(const char* path, bool keep_arena = false) {
  Configuration c{kDefaultLimits, 0, path, "", false, keep_arena};
  return c;
}

void begin(const Configuration& c) {
  ASSERT_EQ(Status::kOk, profiler::initialize(c.limits, 0));
  ASSERT_EQ(Status::kOk, profiler::start());
  start_dumps(c);
}

void allocate(uint64_t address) {
  const FakeStack stack(0x1234);
  profiler::record_allocation(reinterpret_cast<const void*>(address), 100, 0, stack.entry());
}

TEST(Dump, ASignalWritesAProfileEachTime) {
  const TemporaryFolder folder;
  const std::string path = folder.path("x.pb");
  EXPECT_EQ("", said_in_child(folder, [&] {
              setenv("MEMPROF_DUMP_SIGNAL", "USR2", 1);
              begin(configuration_of(path.c_str()));
              allocate(0x10000);
              ::raise(SIGUSR2);
              allocate(0x20000);
              ::raise(SIGUSR2);
            }));
  EXPECT_EQ(1u, profile::read_pprof_file(folder.path("x.1.pb")).live_samples);
  EXPECT_EQ(2u, profile::read_pprof_file(folder.path("x.2.pb")).live_samples);
}

TEST(Dump, AnIntervalWritesAtTheNextSample) {
  const TemporaryFolder folder;
  EXPECT_EQ("", said_in_child(folder, [&] {
              setenv("MEMPROF_DUMP_INTERVAL", "1", 1);
              const std::string path = folder.path("x.pb.gz");
              begin(configuration_of(path.c_str()));
              allocate(0x10000);
              sleep(1);
              EXPECT_FALSE(std::filesystem::exists(folder.path("x.1.pb.gz")));
              allocate(0x20000);
              EXPECT_TRUE(std::filesystem::exists(folder.path("x.1.pb.gz")));
              allocate(0x30000);
              EXPECT_FALSE(std::filesystem::exists(folder.path("x.2.pb.gz")));
            }));
  EXPECT_EQ("\x1f\x8b", read_file(folder.path("x.1.pb.gz")).substr(0, 2));
  EXPECT_EQ(2u, profile::read_pprof_file(folder.path("x.1.pb.gz")).live_samples);
}

TEST(Dump, ASignalThatTheProgramTakesIsSaidOnce) {
  if (testing_support::kThreadSanitizer) {
    GTEST_SKIP() << "it puts a handler of its own before every other";
  }
  const TemporaryFolder folder;
  const auto said_of = [&folder](const char* name, int number) {
    return said_in_child(folder, [&] {
      setenv("MEMPROF_DUMP_SIGNAL", name, 1);
      begin(configuration_of(folder.path("x.pb").c_str()));
      end_dumps();
      ::signal(number, SIG_IGN);
      sleep(1);
      allocate(0x10000);
      end_dumps();
    });
  };
  EXPECT_EQ(
      "memprof: MEMPROF_DUMP_SIGNAL=USR2: the program ignores this signal now: it writes no profile; choose "
      "one that the program leaves alone, like RTMIN+3, or use `memprof live PID -o FILE`, which needs none\n",
      said_of("USR2", SIGUSR2));
  EXPECT_NE(std::string::npos, said_of("RTMIN+3", SIGRTMIN + 3).find("like RTMIN+7,"));
}

TEST(Dump, FilesThatAreThereArePassedOver) {
  const TemporaryFolder folder;
  folder.write("x.1.pb", "mine");
  EXPECT_EQ("", said_in_child(folder, [&] {
              setenv("MEMPROF_DUMP_SIGNAL", "12", 1);
              const std::string path = folder.path("x.pb");
              begin(configuration_of(path.c_str()));
              ::raise(12);
            }));
  EXPECT_EQ("mine", read_file(folder.path("x.1.pb")));
  EXPECT_EQ(0u, profile::read_pprof_file(folder.path("x.2.pb")).samples);
}

TEST(Dump, ThePathIsTheDumpsOwn) {
  const TemporaryFolder folder;
  said_in_child(folder, [&] {
    setenv("MEMPROF_DUMP_SIGNAL", "USR1", 1);
    setenv("MEMPROF_DUMP_PATH", (folder.path("dump.%%.pb")).c_str(), 1);
    begin(configuration_of("/nowhere.pb", true));
    ::raise(SIGUSR1);
  });
  EXPECT_TRUE(std::filesystem::exists(folder.path("dump.%.1.pb")));
}

TEST(Dump, WrongValuesAreSaidAndIgnored) {
  const TemporaryFolder folder;
  const std::string said = said_in_child(folder, [&] {
    setenv("MEMPROF_DUMP_SIGNAL", "KILL", 1);
    setenv("MEMPROF_DUMP_INTERVAL", "soon", 1);
    begin(configuration_of("x.pb"));
  });
  EXPECT_THAT(said, HasSubstr("MEMPROF_DUMP_SIGNAL=KILL is ignored: it must be a signal that can be caught"));
  EXPECT_THAT(said, HasSubstr("MEMPROF_DUMP_INTERVAL=soon is ignored: it must be a time like 30s, 5m or 1h"));
  for (const char* interval : {"0", "1d", "99999999999999999999", "-1", "1.5", "s", "10ms"}) {
    EXPECT_THAT(said_in_child(folder,
                              [&] {
                                setenv("MEMPROF_DUMP_INTERVAL", interval, 1);
                                begin(configuration_of("x.pb"));
                              }),
                HasSubstr("is ignored"))
        << interval;
  }
  EXPECT_THAT(said_in_child(folder,
                            [&] {
                              setenv("MEMPROF_DUMP_PATH", "%q", 1);
                              begin(configuration_of("x.pb"));
                            }),
              HasSubstr("MEMPROF_DUMP_PATH=%q is ignored"));
  EXPECT_THAT(
      said_in_child(folder,
                    [&] {
                      setenv("MEMPROF_DUMP_PATH", "dump.json", 1);
                      begin(configuration_of("x.pb"));
                    }),
      HasSubstr("MEMPROF_DUMP_PATH=dump.json is ignored: it must be a path that ends in .pb.gz or .pb"));
}

TEST(Dump, WhatCannotBeWrittenIsSaid) {
  const TemporaryFolder folder;
  EXPECT_THAT(said_in_child(folder,
                            [&] {
                              setenv("MEMPROF_DUMP_SIGNAL", "USR2", 1);
                              begin(configuration_of("/no/such/folder/x.pb"));
                              ::raise(SIGUSR2);
                            }),
              HasSubstr("a profile was not written to /no/such/folder/x.1.pb: "));
}

}  // namespace
}  // namespace memprof::dump_test
