// SPDX-License-Identifier: Apache-2.0
#include "memprof/host/process/arena_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <fstream>
#include <set>

#include "tests/tools/memprof/process.h"

namespace memprof::cli {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;
using testing_tools::Folder;

uint64_t namespace_of_this() {
  char link[64] = "";
  unsigned long long id = 0;
  EXPECT_GT(readlink("/proc/self/ns/pid", link, sizeof(link) - 1), 0);
  EXPECT_EQ(1, std::sscanf(link, "pid:[%llu]", &id));
  return id;
}

std::string name_of(uint64_t pid, uint64_t space) {
  return "memprof-" + std::to_string(pid) + "-" + std::to_string(space) + ".arena";
}

std::string make_file(const Folder& folder, const std::string& name) {
  std::ofstream(folder / name) << std::string(4096, 'x');
  return folder / name;
}

void* map(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "r");
  void* pages = mmap(nullptr, 4096, PROT_READ, MAP_SHARED, fileno(file), 0);
  std::fclose(file);
  return pages;
}

TEST(ArenaFiles, AreKnownByTheirNames) {
  const Folder folder;
  make_file(folder, name_of(12, 34));
  for (const char* other :
       {"memprof-12.arena", "memprof-1-2.arena.x", "xmemprof-1-2.arena", "memprof-a-b.arena"}) {
    make_file(folder, other);
  }
  const auto files = find_arenas(folder / "");
  ASSERT_THAT(files, SizeIs(1));
  EXPECT_EQ(files[0].path, folder / name_of(12, 34));
  EXPECT_EQ(files[0].pid, 12u);
  EXPECT_EQ(files[0].pid_namespace, 34u);
  EXPECT_THAT(find_arenas(folder / "none"), IsEmpty());
}

TEST(ArenaFiles, NamesTellProcessesOfOneIdAndTheirPrograms) {
  const Folder folder;
  for (const char* name : {"memprof-12-34-56.arena", "memprof-12-34-57-18446744073709551615.arena"}) {
    make_file(folder, name);
    EXPECT_TRUE(is_arena(folder / name));
  }
  for (const char* other : {"memprof-1-2-3-4-5.arena", "memprof-1-2-.arena", "memprof-1-2-3-x.arena"}) {
    EXPECT_FALSE(is_arena(other));
  }
  std::set<uint64_t> starts;
  for (const ArenaFile& file : find_arenas(folder / "")) {
    EXPECT_EQ(file.pid, 12u);
    starts.insert(file.process_start);
  }
  EXPECT_EQ(starts, (std::set<uint64_t>{56, 57}));
}

TEST(ArenaFiles, TheOwnerLivesWhileItHasTheFileMapped) {
  const Folder folder;
  const uint64_t space = namespace_of_this();
  const auto pid = static_cast<uint64_t>(getpid());
  const ArenaFile mine{make_file(folder, name_of(pid, space)), pid, space, 0};
  EXPECT_EQ(owner_of(mine), Owner::kIsGone);  // this process, but another program of it
  void* pages = map(mine.path);
  EXPECT_EQ(owner_of(mine), Owner::kLives);
  // Another process has the id that this one had.
  const pid_t child = fork();
  if (child == 0) {
    munmap(pages, 4096);
    pause();
  }
  ArenaFile childs{mine.path, static_cast<uint64_t>(child), space, 0};
  usleep(100000);
  EXPECT_EQ(owner_of(childs), Owner::kIsGone);
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(owner_of(childs), Owner::kIsGone);
  munmap(pages, 4096);
  EXPECT_EQ(owner_of({mine.path, pid, space + 1, 0}), Owner::kUnknown);
  EXPECT_EQ(owner_of({mine.path, pid, 0, 0}), Owner::kUnknown);
}

// Else memprof run would remove the data of processes that run.
TEST(ArenaFiles, WhoCannotLookTakesNobodyForGone) {
  const Folder folder;
  const auto pid = static_cast<uint64_t>(getpid());
  const uint64_t space = namespace_of_this();
  const ArenaFile mine{make_file(folder, name_of(pid, space)), pid, space, 0};
  void* pages = map(mine.path);
  rlimit before{};
  getrlimit(RLIMIT_NOFILE, &before);
  const rlimit none{3, before.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const Owner owner = owner_of(mine);
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(owner, Owner::kLives);
  munmap(pages, 4096);
}

TEST(ArenaFiles, AProcessIsAskedForItsOwn) {
  const Folder folder;
  int error = 0;
  EXPECT_EQ(arena_of_process(static_cast<uint64_t>(getpid()), &error), "");
  EXPECT_EQ(error, 0);
  const uint64_t space = namespace_of_this();
  const auto pid = static_cast<uint64_t>(getpid());
  void* of_parent = map(make_file(folder, name_of(1, space)));  // inherited by fork
  void* of_this = map(make_file(folder, name_of(pid, space)));
  const std::string found = arena_of_process(pid, &error);
  EXPECT_EQ(found, "/proc/" + std::to_string(pid) + "/root" + (folder / name_of(pid, space)));
  munmap(of_this, 4096);
  EXPECT_EQ(arena_of_process(pid, &error), "");
  munmap(of_parent, 4096);
  EXPECT_EQ(arena_of_process(uint64_t{1} << 31, &error), "");
  EXPECT_EQ(error, ENOENT);
}

}  // namespace
}  // namespace memprof::cli
