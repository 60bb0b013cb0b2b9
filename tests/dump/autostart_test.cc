// SPDX-License-Identifier: Apache-2.0
// The MEMPROF_* variables, in a child each.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "core/engine/ending.h"
#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "core/sampling/sampler.h"
#include "dump/dump.h"
#include "memprof.h"
#include "platform/messages.h"
#include "profile/pprof/pprof_reader.h"
#include "profile/text/units.h"
#include "tests/support/engine.h"
#include "tests/support/folder.h"

namespace memprof::autostart_test {
namespace {

using testing_support::in_child;
using testing_support::read_file;
using testing_support::TemporaryFolder;

using Variables = std::vector<std::pair<const char*, std::string>>;

// Runs f with these variables in a child; returns what it said on standard error.
std::string said(const Variables& variables, const std::function<void()>& f) {
  const TemporaryFolder folder;
  const std::string path = folder.path("stderr");
  in_child([&] {
    for (const char* name : {"MEMPROF_PROFILE", "MEMPROF_RATE", "MEMPROF_MAX_LIVE_SAMPLES",
                             "MEMPROF_MAX_STACKS", "MEMPROF_MAX_DEPTH", "MEMPROF_RUN_PID"}) {
      unsetenv(name);
    }
    for (const auto& [name, value] : variables) {
      setenv(name, value.c_str(), 1);
    }
    const int saved = dup(STDERR_FILENO);
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0600);
    dup2(fd, STDERR_FILENO);
    platform::remember_standard_error();
    close(fd);
    f();
    dup2(saved, STDERR_FILENO);
    close(saved);
  });
  return read_file(path);
}

std::string configure(const Variables& variables, const std::function<void(const Configuration&)>& check) {
  return said(variables, [&] { check(read_configuration()); });
}

TEST(Autostart, WithoutVariablesThereAreTheDefaults) {
  EXPECT_EQ("", configure({}, [](const Configuration& c) {
              EXPECT_EQ(kDefaultRateBytes, c.rate_bytes);
              EXPECT_EQ(kDefaultLimits.max_live_samples, c.limits.max_live_samples);
              EXPECT_EQ(kDefaultLimits.max_stacks, c.limits.max_stacks);
              EXPECT_EQ(kDefaultLimits.max_depth, c.limits.max_depth);
              EXPECT_EQ(nullptr, c.profile_path);
            }));
}

TEST(Autostart, ReadsRates) {
  const std::pair<const char*, uint64_t> rates[] = {{"0", 0},
                                                    {"1", 1},
                                                    {"512k", 524288},
                                                    {"512K", 524288},
                                                    {"64KiB", 65536},
                                                    {"64kB", 65536},
                                                    {"1M", 1u << 20},
                                                    {"1m", 1u << 20},
                                                    {"2G", 1ull << 31},
                                                    {"1T", 1ull << 40},
                                                    {"1MiB", 1u << 20},
                                                    {"123456", 123456},
                                                    {"100B", 100},
                                                    {"0.5M", 524288},
                                                    {"1.50k", 1536},
                                                    {"512 kib", 524288},
                                                    {"1P", 1ull << 50},
                                                    {"1024T", 1ull << 50},
                                                    {"1125899906842624", 1ull << 50},
                                                    {"", kDefaultRateBytes}};
  for (const auto& pair : rates) {
    EXPECT_EQ("", configure({{"MEMPROF_RATE", pair.first}}, [&pair](const Configuration& c) {
                EXPECT_EQ(pair.second, c.rate_bytes) << pair.first;
              }));
  }
}

TEST(Autostart, WithoutARateItStartsFine) {
  const auto expect = [](bool starts_fine, const Variables& variables) {
    EXPECT_EQ("", configure(variables, [starts_fine](const Configuration& c) {
                EXPECT_EQ(starts_fine, c.budget.starts_fine);
              }));
  };
  expect(true, {});
  expect(true, {{"MEMPROF_RATE", ""}});
  expect(false, {{"MEMPROF_RATE", "512k"}});
  expect(false, {{"MEMPROF_RATE", "0"}});
  expect(false, {{"MEMPROF_BUDGET", "0.5%"}});
}

TEST(Autostart, AWrongValueIsSaidOnceAndIgnored) {
  for (const char* text : {"x", "-1", "12x", "k", "0.3k", "1.5", "1.k", "1.5.5k", "512kk", "512kiB ", " 512",
                           "1025T", "1125899906842625", "99999999999999999999999", "18446744073709551616",
                           "17179869184G", "0x10", "512iB"}) {
    const std::string message = configure({{"MEMPROF_RATE", text}}, [](const Configuration& c) {
      EXPECT_EQ(kDefaultRateBytes, c.rate_bytes);
      EXPECT_EQ(kDefaultRateBytes, read_configuration().rate_bytes);  // a second reading says nothing
    });
    EXPECT_EQ("memprof: MEMPROF_RATE=" + std::string(text) +
                  " is ignored: it must be bytes like 512k, 64k, 1M, or 0 for every allocation\n",
              message);
  }
}

TEST(Autostart, ASizeIsWhatTheCommandTakes) {
  for (const char* text : {"0.5M", "0.001k", "0.125k", "0.0625M", "1.0", "2.50G", "64k", "64KB", "64 kB",
                           "64 ", "64  k", "1e3", ".5M", "0.12345678901234M", "0.1234567890123P",
                           "1.999999999999T", "7.5b", "0.000000001G", "1.00000001k"}) {
    const auto wanted = profile::parse_bytes(text);
    // ".5M" and the like are taken by one of them only; what both take is the same.
    configure({{"MEMPROF_RATE", text}}, [&](const Configuration& c) {
      if (wanted && text[0] != '.') {
        EXPECT_EQ(*wanted, c.rate_bytes) << text;
      } else {
        EXPECT_EQ(kDefaultRateBytes, c.rate_bytes) << text;
      }
    });
  }
}

TEST(Autostart, ReadsLimits) {
  EXPECT_EQ("", configure({{"MEMPROF_MAX_LIVE_SAMPLES", "10k"},
                           {"MEMPROF_MAX_STACKS", "77"},
                           {"MEMPROF_MAX_DEPTH", "1024"}},
                          [](const Configuration& c) {
                            EXPECT_EQ(10240u, c.limits.max_live_samples);
                            EXPECT_EQ(77u, c.limits.max_stacks);
                            EXPECT_EQ(1024u, c.limits.max_depth);
                          }));
  const std::string message = configure(
      {{"MEMPROF_MAX_LIVE_SAMPLES", "0"}, {"MEMPROF_MAX_STACKS", "17M"}, {"MEMPROF_MAX_DEPTH", "1025"}},
      [](const Configuration& c) {
        EXPECT_EQ(kDefaultLimits.max_live_samples, c.limits.max_live_samples);
        EXPECT_EQ(kDefaultLimits.max_stacks, c.limits.max_stacks);
        EXPECT_EQ(kDefaultLimits.max_depth, c.limits.max_depth);
      });
  for (const char* name :
       {"MEMPROF_MAX_LIVE_SAMPLES=0 ", "MEMPROF_MAX_STACKS=17M ", "MEMPROF_MAX_DEPTH=1025 "}) {
    EXPECT_NE(std::string::npos, message.find(name)) << message;
  }
}

TEST(Autostart, ReadsThePattern) {
  EXPECT_EQ("", configure({{"MEMPROF_PROFILE", "/tmp/%n.%p.%t.%%.pb"}}, [](const Configuration& c) {
              EXPECT_STREQ("/tmp/%n.%p.%t.%%.pb", c.profile_path);
            }));
  EXPECT_EQ("", configure({{"MEMPROF_PROFILE", ""}},
                          [](const Configuration& c) { EXPECT_EQ(nullptr, c.profile_path); }));
  for (const std::string& wrong : {std::string("%x.pb"), std::string("a%"), std::string(5000, 'x')}) {
    const std::string message = configure({{"MEMPROF_PROFILE", wrong}},
                                          [](const Configuration& c) { EXPECT_EQ(nullptr, c.profile_path); });
    EXPECT_EQ(0u, message.find("memprof: MEMPROF_PROFILE="));
    EXPECT_NE(std::string::npos, message.find("is ignored"));
  }
}

TEST(Autostart, AFormatThatTheProcessCannotWriteIsRefused) {
  for (const char* path : {"/tmp/x.pb.gz", "/tmp/x.pprof", "/tmp/x.pb"}) {
    EXPECT_EQ("", configure({{"MEMPROF_PROFILE", path}},
                            [&](const Configuration& c) { EXPECT_STREQ(path, c.profile_path); }));
  }
  for (const std::string path : {"x.json", "x.html", "x.svg", "x.speedscope.json", "x.collapsed", "x"}) {
    EXPECT_EQ("memprof: MEMPROF_PROFILE=" + path +
                  " is ignored: it must be a path that ends in .pb.gz or .pb (memprof export makes other "
                  "formats of such a file)\n",
              configure({{"MEMPROF_PROFILE", path}},
                        [](const Configuration& c) { EXPECT_EQ(nullptr, c.profile_path); }));
  }
}

TEST(Autostart, InitWithoutOptionsTakesTheVariables) {
  EXPECT_EQ("", said({{"MEMPROF_RATE", "64k"}, {"MEMPROF_MAX_DEPTH", "7"}}, [] {
              ASSERT_EQ(MEMPROF_OK, memprof_init(nullptr));
              EXPECT_EQ(65536u, sampler_rate());
              EXPECT_EQ(7u, profiler::arena().header().limits.max_depth);
            }));
}

TEST(Autostart, StartsOnlyWhereAProfileIsAskedFor) {
  EXPECT_EQ("", said({{"MEMPROF_RATE", "64k"}}, [] {
              autostart();
              EXPECT_EQ(State::kUninitialized, profiler::state());
              end_of_process();
            }));
  EXPECT_EQ("", said({{"MEMPROF_PROFILE", "/tmp/x.pb"}, {"MEMPROF_RUN_PID", "1"}}, [] {
              autostart();  // another process is meant
              EXPECT_EQ(State::kUninitialized, profiler::state());
              end_of_process();
            }));
}

TEST(Autostart, StartsAndWritesAtTheEnd) {
  const TemporaryFolder folder;
  const std::string path = folder.path("out.%p.pb");
  EXPECT_EQ("", said({{"MEMPROF_PROFILE", path}, {"MEMPROF_RATE", "4k"}}, [&] {
              setenv("MEMPROF_RUN_PID", std::to_string(getpid()).c_str(), 1);
              autostart();
              EXPECT_EQ(State::kActive, profiler::state());
              EXPECT_EQ(4096u, sampler_rate());
              setenv("MEMPROF_PROFILE", "/nonexistent", 1);  // what the program does to its environment later
              const testing_support::FakeStack stack(0x401000);
              profiler::record_allocation(reinterpret_cast<void*>(0x10000), 100, 4096, stack.entry());
              const pid_t child = fork();
              if (child == 0) {
                end_of_process();  // a child does not write its parent's profile
                _exit(0);
              }
              int status = 1;
              waitpid(child, &status, 0);
              EXPECT_EQ(0, status);
              EXPECT_EQ(0u, folder.entries());
              end_of_process();
              EXPECT_EQ(1u, folder.entries());
              const std::string written = folder.path("out." + std::to_string(getpid()) + ".pb");
              EXPECT_EQ(1u, profile::read_pprof_file(written).samples);
              std::filesystem::remove(written);
              end_of_process();  // once
              EXPECT_EQ(0u, folder.entries());
            }));
}

// Where memprof was preloaded, handlers of exit that it registered run after its end.
TEST(Autostart, WhenTheProfileIsWrittenNothingIsLookedAtAgain) {
  const TemporaryFolder folder;
  EXPECT_EQ("", said({{"MEMPROF_PROFILE", folder.path("out.pb")}}, [&] {
              autostart();
              end_of_process();
              EXPECT_EQ(1u, folder.entries());
              profiler::note_end_begun();
              EXPECT_EQ(0u, profiler::arena().header().resident.is_kept.load());
            }));
}

TEST(Autostart, SaysWhyAProfileWasNotWritten) {
  const TemporaryFolder folder;
  const auto run = [](const std::string& path) {
    return said({{"MEMPROF_PROFILE", path}}, [] {
      autostart();
      EXPECT_EQ(State::kActive, profiler::state());
      end_of_process();
    });
  };
  EXPECT_EQ("memprof: the profile was not written to " + folder.path("no/a.pb") + ": no such folder\n",
            run(folder.path("no/a.pb")));
  const std::string existing = folder.write("there.pb", "precious");
  EXPECT_EQ("memprof: the profile was not written to " + existing +
                ": it is there already; remove it, or put %p (process id) into MEMPROF_PROFILE\n",
            run(existing));
  EXPECT_EQ("precious", read_file(existing));
  EXPECT_EQ(
      "memprof: the profile was not written to " + existing + "/a.pb: a part of the path is not a folder\n",
      run(existing + "/a.pb"));
}

}  // namespace
}  // namespace memprof::autostart_test
