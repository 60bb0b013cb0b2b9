// SPDX-License-Identifier: Apache-2.0
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "core/engine/profiler.h"
#include "core/engine/recorder.h"
#include "core/sampling/weight.h"
#include "dump/dump.h"
#include "memprof.h"
#include "platform/clock.h"
#include "platform/process.h"
#include "profile/pprof/pprof_reader.h"
#include "tests/support/engine.h"
#include "tests/support/folder.h"

namespace memprof::write_profile_test {
namespace {

using profile::Metric;
using testing_support::FakeStack;
using testing_support::hooked_free;
using testing_support::in_child;
using testing_support::read_file;
using testing_support::TemporaryFolder;

void record(uint64_t address, uint64_t size_bytes, uint64_t rate_bytes, uint64_t caller) {
  const FakeStack stack(caller);
  profiler::record_allocation(reinterpret_cast<void*>(address), size_bytes, rate_bytes, stack.entry());
}

void start() {
  ASSERT_EQ(Status::kOk, profiler::initialize({1 << 16, 4096, 64}, 4096));
  ASSERT_EQ(Status::kOk, profiler::start());
}

uint64_t own_code() {
  return reinterpret_cast<uint64_t>(&start) + 1;
}

// The folder goes with the child that made it.
void in_folder(void (*f)(const TemporaryFolder&)) {
  in_child([f] {
    const TemporaryFolder folder;
    f(folder);
    std::filesystem::remove_all(folder.path(""));
  });
}

TEST(WriteProfile, WhatIsRecordedIsReadBack) {
  in_folder([](const TemporaryFolder& folder) {
    start();
    const uint64_t libc = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")) + 3;
    record(0x10000, 100, 4096, libc);
    record(0x20000, 100, 4096, libc);
    record(0x30000, 64, 1000, libc);
    record(0x40000, 500, 4096, own_code());
    record(0x50000, 500, 4096, own_code());
    hooked_free(reinterpret_cast<void*>(0x50000));
    const std::string path = folder.path("heap.pb");
    ASSERT_EQ(MEMPROF_OK, memprof_write_profile(path.c_str(), 0));
    EXPECT_EQ(1u, folder.entries());  // no temporary file is left
    struct stat s{};
    ASSERT_EQ(0, stat(path.c_str(), &s));
    EXPECT_EQ(0600u, s.st_mode & 0777);

    const profile::Profile p = profile::read_pprof_file(path);
    EXPECT_TRUE(p.from_memprof);
    EXPECT_EQ(static_cast<uint64_t>(getpid()), p.pid);
    EXPECT_EQ(4096u, p.rate_bytes);
    EXPECT_EQ(std::filesystem::path(platform::program_path()).filename().string(), p.program);
    EXPECT_EQ(5u, p.samples);
    EXPECT_EQ(4u, p.live_samples);
    EXPECT_EQ(0u, p.dropped_samples);
    EXPECT_NEAR(static_cast<double>(platform::unix_ns()), static_cast<double>(p.time_unix_ns), 60e9);
    ASSERT_EQ(2u, p.stacks.size());
    ASSERT_EQ(2u, p.mappings.size());
    EXPECT_EQ(platform::program_path(), p.mappings[0].path);  // the main program is first
    EXPECT_NE(std::string::npos, p.mappings[1].path.find("libc"));
    EXPECT_EQ(40u, p.mappings[0].build_id.size());
    for (const profile::Stack& stack : p.stacks) {
      ASSERT_TRUE(stack.has_statistics);
      ASSERT_GE(stack.locations.size(), 1u);
      const profile::Location& leaf = p.locations[stack.locations[0]];
      const bool is_libc = leaf.address == libc - 1;
      EXPECT_TRUE(is_libc || leaf.address == own_code() - 1);
      ASSERT_NE(profile::kNoMapping, leaf.mapping);
      EXPECT_EQ(is_libc ? 1u : 0u, leaf.mapping);
      const Weight w = is_libc ? weigh(100, 4096) : weigh(500, 4096);
      const Weight other = weigh(64, 1000);
      EXPECT_EQ(is_libc ? 3u : 2u, stack.allocated.samples);
      EXPECT_EQ(is_libc ? 264u : 1000u, stack.allocated.size_bytes);
      EXPECT_DOUBLE_EQ(2 * w.bytes + (is_libc ? other.bytes : 0), stack.allocated.weight_bytes);
      EXPECT_DOUBLE_EQ(2 * w.count + (is_libc ? other.count : 0), stack.allocated.weight_count);
      EXPECT_EQ(is_libc ? 0u : 1u, stack.freed.samples);
      ASSERT_EQ(is_libc ? 2u : 1u, stack.live.size());
      for (const profile::LiveGroup& group : stack.live) {
        EXPECT_EQ(group.size_bytes == 64 ? 1000u : 4096u, group.rate_bytes);
        EXPECT_EQ(group.size_bytes == 100 ? 2u : 1u, group.samples);
      }
      // Integers in the file: rounded to one unit.
      const double live = is_libc ? 2 * w.bytes + other.bytes : w.bytes;
      EXPECT_NEAR(live, stack.values[static_cast<size_t>(Metric::kInuseSpace)], 1.01);
      EXPECT_NEAR(stack.allocated.weight_bytes, stack.values[static_cast<size_t>(Metric::kAllocSpace)], 1.01);
      EXPECT_NEAR(stack.allocated.weight_count, stack.values[static_cast<size_t>(Metric::kAllocObjects)],
                  1.01);
    }
  });
}

TEST(WriteProfile, AnEmptyProfileIsAProfile) {
  in_folder([](const TemporaryFolder& folder) {
    ASSERT_EQ(MEMPROF_OK, memprof_init(nullptr));
    ASSERT_EQ(MEMPROF_OK, memprof_write_profile(folder.path("a.pb").c_str(), 0));
    const profile::Profile p = profile::read_pprof_file(folder.path("a.pb"));
    EXPECT_TRUE(p.from_memprof);
    EXPECT_EQ(0u, p.samples);
    EXPECT_TRUE(p.stacks.empty());
    EXPECT_EQ(8192u, p.rate_bytes);  // it starts fine
  });
}

TEST(WriteProfile, PutsFactsOfTheProcessIntoThePath) {
  in_folder([](const TemporaryFolder& folder) {
    start();
    const std::string pattern = folder.path("%n.%p.%%.pb");
    ASSERT_EQ(MEMPROF_OK, memprof_write_profile(pattern.c_str(), 0));
    const std::string program = std::filesystem::path(platform::program_path()).filename().string();
    EXPECT_TRUE(std::filesystem::exists(folder.path(program + "." + std::to_string(getpid()) + ".%.pb")));
    char written[4096];
    EXPECT_EQ(MEMPROF_ERR_EXISTS, write_profile_file(pattern.c_str(), false, written, sizeof(written)));
    EXPECT_EQ(folder.path(program + "." + std::to_string(getpid()) + ".%.pb"), written);
    EXPECT_EQ(MEMPROF_ERR_EXISTS, write_profile_file(pattern.c_str(), false, written, 5));
    EXPECT_EQ(folder.path("").substr(0, 4), written);
    for (const char* wrong : {"%.pb", "%q.pb", "a%", "", "%%%", ".pb%"}) {
      EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_write_profile(wrong, 0)) << wrong;
    }
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_write_profile((std::string(5000, 'x') + ".pb").c_str(), 0));
  });
}

TEST(WriteProfile, TheEndOfTheNameSaysHow) {
  in_folder([](const TemporaryFolder& folder) {
    start();
    for (const char* name : {"a.pb.gz", "a.pprof"}) {
      ASSERT_EQ(MEMPROF_OK, memprof_write_profile(folder.path(name).c_str(), 0));
      EXPECT_EQ("\x1f\x8b", read_file(folder.path(name)).substr(0, 2));
      EXPECT_TRUE(profile::read_pprof_file(folder.path(name)).from_memprof);
    }
    ASSERT_EQ(MEMPROF_OK, memprof_write_profile(folder.path("a.pb").c_str(), 0));
    EXPECT_NE("\x1f\x8b", read_file(folder.path("a.pb")).substr(0, 2));
    for (const char* name : {"a", "a.json", "a.html", "a.svg", "a.speedscope.json", "a.gz"}) {
      EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_write_profile(folder.path(name).c_str(), 0)) << name;
    }
    EXPECT_EQ(3u, folder.entries());
  });
}

TEST(WriteProfile, WhatExistsIsReplacedOnlyWhenAskedFor) {
  in_folder([](const TemporaryFolder& folder) {
    start();
    const std::string path = folder.write("a.pb", "precious");
    EXPECT_EQ(MEMPROF_ERR_EXISTS, memprof_write_profile(path.c_str(), 0));
    EXPECT_EQ("precious", read_file(path));
    EXPECT_EQ(1u, folder.entries());
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_write_profile(path.c_str(), 2));
    EXPECT_EQ(MEMPROF_ERR_INVALID, memprof_write_profile(path.c_str(), UINT32_MAX));
    EXPECT_EQ(MEMPROF_OK, memprof_write_profile(path.c_str(), MEMPROF_WRITE_OVERWRITE));
    EXPECT_TRUE(profile::read_pprof_file(path).from_memprof);
    EXPECT_EQ(1u, folder.entries());
  });
}

TEST(WriteProfile, ErrorsSayWhyAndLeaveNothing) {
  in_folder([](const TemporaryFolder& folder) {
    start();
    EXPECT_EQ(MEMPROF_ERR_SYSTEM, memprof_write_profile(folder.path("no/a.pb").c_str(), 0));
    EXPECT_EQ(ENOENT, errno);
    const std::string file = folder.write("file", "");
    for (const uint32_t flags : {0u, 1u}) {
      EXPECT_EQ(MEMPROF_ERR_SYSTEM, memprof_write_profile((file + "/a.pb").c_str(), flags));
      EXPECT_EQ(ENOTDIR, errno);
    }
    ASSERT_EQ(0, mkdir(folder.path("d.pb").c_str(), 0700));
    EXPECT_EQ(MEMPROF_ERR_EXISTS, memprof_write_profile(folder.path("d.pb").c_str(), 0));
    EXPECT_EQ(MEMPROF_ERR_SYSTEM,
              memprof_write_profile(folder.path("d.pb").c_str(), MEMPROF_WRITE_OVERWRITE));
    EXPECT_EQ(EISDIR, errno);
    EXPECT_EQ(2u, folder.entries());
  });
}

// Somebody else's temporary file, of a process that died while it wrote, is not in the way.
TEST(WriteProfile, LeftOversOfADeadProcessAreNotInTheWay) {
  in_folder([](const TemporaryFolder& folder) {
    start();
    folder.write("a.pb.tmp." + std::to_string(getpid()), "half");
    EXPECT_EQ(MEMPROF_OK, memprof_write_profile(folder.path("a.pb").c_str(), 0));
    EXPECT_EQ("half", read_file(folder.path("a.pb.tmp." + std::to_string(getpid()))));
    EXPECT_EQ(2u, folder.entries());
  });
}

TEST(WriteProfile, ToADescriptor) {
  in_folder([](const TemporaryFolder& folder) {
    start();
    record(0x10000, 100, 4096, 0x401000);
    const std::string path = folder.path("a.pb");
    const int fd = open(path.c_str(), O_RDWR | O_CREAT, 0600);
    ASSERT_GE(fd, 0);
    EXPECT_EQ(MEMPROF_OK, memprof_write_profile_fd(fd));
    EXPECT_NE(-1, fcntl(fd, F_GETFD));  // it stays open
    close(fd);
    EXPECT_EQ(1u, profile::read_pprof_file(path).samples);
    EXPECT_EQ(MEMPROF_ERR_SYSTEM, memprof_write_profile_fd(fd));
    EXPECT_EQ(EBADF, errno);
    const int full = open("/dev/full", O_WRONLY);
    if (full >= 0) {
      EXPECT_EQ(MEMPROF_ERR_SYSTEM, memprof_write_profile_fd(full));
      EXPECT_EQ(ENOSPC, errno);
      close(full);
    }
  });
}

TEST(WriteProfile, BeforeInitThereIsNothingToWrite) {
  in_folder([](const TemporaryFolder& folder) {
    EXPECT_EQ(MEMPROF_ERR_STATE, memprof_write_profile(folder.path("a.pb").c_str(), 0));
    EXPECT_EQ(MEMPROF_ERR_STATE, memprof_write_profile_fd(2));
    EXPECT_EQ(0u, folder.entries());
  });
}

// A library that all stacks run through, with the main program in none of them: still the main program's
// mapping does not change places with another's.
TEST(WriteProfile, EveryLocationKeepsItsMapping) {
  in_folder([](const TemporaryFolder& folder) {
    start();
    const uint64_t libc = reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version")) + 3;
    record(0x10000, 100, 4096, libc);
    record(0x20000, 100, 4096, 0x1234);  // in no module
    record(0x30000, 100, 4096, own_code());
    ASSERT_EQ(MEMPROF_OK, memprof_write_profile(folder.path("a.pb").c_str(), 0));
    const profile::Profile p = profile::read_pprof_file(folder.path("a.pb"));
    for (const profile::Location& location : p.locations) {
      if (location.mapping == profile::kNoMapping) {
        EXPECT_EQ(0x1233u, location.address);
        continue;
      }
      const profile::Mapping& mapping = p.mappings[location.mapping];
      EXPECT_GE(location.address, mapping.start);
      EXPECT_LT(location.address, mapping.limit);
    }
  });
}

}  // namespace
}  // namespace memprof::write_profile_test
