// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <string>

#include "core/reader/snapshot.h"
#include "core/sampling/weight.h"
#include "platform/files.h"
#include "platform/process.h"
#include "platform/stack.h"
#include "tests/core/reader/writers.h"
#include "tests/support/arena.h"
#include "tests/support/engine.h"

namespace memprof::snapshot_file_test {
namespace {

using platform::Walk;
using testing_support::in_child;
using testing_support::kSmallLimits;
using testing_support::run_threads;
using testing_support::ScopedArena;
using testing_support::SnapshotPointer;
using testing_support::take;

// In the folder where arenas are.
class SnapshotFile : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::string(platform::arena_folder()) + "/memprof-test-XXXXXX";
    ASSERT_NE(nullptr, mkdtemp(folder_.data()));
    path_ = folder_ + "/a.arena";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  SnapshotPointer read(bool* is_arena) const {
    uint64_t size = 0;
    const int fd = platform::file_open(path_.c_str(), &size);
    EXPECT_GE(fd, 0);
    SnapshotPointer snapshot(Snapshot::read_file(fd, size, is_arena));
    platform::file_close(fd);
    return snapshot;
  }
  SnapshotPointer read() const {
    bool is_arena = false;
    SnapshotPointer snapshot = read(&is_arena);
    EXPECT_TRUE(is_arena);
    return snapshot;
  }

  uint64_t blocks() const {
    struct stat status{};
    EXPECT_EQ(0, stat(path_.c_str(), &status));
    return static_cast<uint64_t>(status.st_blocks);
  }

  std::string folder_;
  std::string path_;
};

// A stack for each of 50 sizes, the size its only frame, and `records` of them.
void fill(ScopedArena& a, uint64_t records) {
  for (uint64_t i = 0; i < records; ++i) {
    const uint64_t size = 1 + i % 50;
    bool is_new = false;
    const uint32_t stack = a.stacks.intern(&size, 1, Walk::kRoot, &is_new);
    a.stacks.add_allocated(stack, size, weigh(size, size * 2));
    EXPECT_TRUE(a.live.insert({{0x7f0000000000 + i * 32, size, size * 2, i, stack, 7}}));
  }
  const uint64_t here[] = {reinterpret_cast<uint64_t>(&fill)};
  a.modules.note(here, 1);
}

// All sections of it, and all levels, are said to be in use.
void claim_everything(ArenaHeader& header) {
  for (Section& section : header.sections) {
    section.used_bytes = section.committed_bytes = section.capacity_bytes;
  }
  header.live_levels.open = header.live_levels.limit;
}

template <typename T>
bool is_same(const Span<T>& a, const Span<T>& b) {
  return a.size == b.size && memcmp(a.data, b.data, a.size * sizeof(T)) == 0;
}

TEST_F(SnapshotFile, SaysWhatTheArenaSays) {
  for (const uint64_t records : {0, 1, 700, 10000}) {
    ScopedArena a({20000, 256, 64}, path_.c_str());
    ASSERT_EQ(1u, a.header().is_file);
    fill(a, records);
    const auto expected = take(a.arena);
    const auto s = read();
    ASSERT_NE(nullptr, s);
    EXPECT_EQ(records, s->records.size);
    EXPECT_TRUE(is_same(expected->records, s->records));
    EXPECT_TRUE(is_same(expected->stacks, s->stacks));
    EXPECT_TRUE(is_same(expected->frames, s->frames));
    EXPECT_TRUE(is_same(expected->modules, s->modules));
    EXPECT_TRUE(is_same(expected->strings, s->strings));
    EXPECT_EQ(expected->live_weight_bytes, s->live_weight_bytes);
    EXPECT_EQ(expected->counters.samples, s->counters.samples);
    EXPECT_EQ(expected->process_id, s->process_id);
    EXPECT_STREQ(expected->program(), s->program());
    ASSERT_EQ(0, unlink(path_.c_str()));
  }
}

TEST_F(SnapshotFile, WhatIsNoArenaIsRefused) {
  bool is_arena = true;
  for (const size_t size : {0, 1, 4095, 4096, 100000}) {
    const int fd = platform::file_create(path_.c_str());
    const std::string text(size, 'x');
    EXPECT_EQ(0, platform::file_write(fd, text.data(), size));
    platform::file_close(fd);
    EXPECT_EQ(nullptr, read(&is_arena));
    EXPECT_FALSE(is_arena) << size;
    ASSERT_EQ(0, unlink(path_.c_str()));
  }
}

TEST_F(SnapshotFile, WhatHasNoMemoryGetsNone) {
  {
    ScopedArena a(kDefaultLimits, path_.c_str());
    fill(a, 700);
    claim_everything(a.arena.header());
  }
  const uint64_t before = blocks();
  const auto s = read();
  ASSERT_NE(nullptr, s);
  EXPECT_EQ(700u, s->records.size) << "and what is there is read";
  EXPECT_EQ(before, blocks());
  // The rest of a page, of 16 KiB at most, is there.
  EXPECT_LT(s->stacks.size, 1000u);
  EXPECT_LT(s->frames.size, 10000u);
}

TEST_F(SnapshotFile, AHeaderWithNothingBehindItIsAnArenaWithoutSamples) {
  uint64_t size = 0;
  ArenaHeader header_copy;
  {
    ScopedArena a(kDefaultLimits, path_.c_str());
    claim_everything(a.arena.header());
    size = a.header().total_bytes;
    memcpy(static_cast<void*>(&header_copy), &a.header(), sizeof(header_copy));
  }
  ASSERT_EQ(0, unlink(path_.c_str()));
  const int fd = platform::file_create(path_.c_str());
  ASSERT_EQ(0, platform::file_write(fd, &header_copy, sizeof(header_copy)));
  ASSERT_EQ(0, ftruncate(fd, static_cast<off_t>(size)));
  platform::file_close(fd);
  const uint64_t before = blocks();
  const auto s = read();
  ASSERT_NE(nullptr, s);
  EXPECT_EQ(0u, s->records.size + s->stacks.size + s->frames.size + s->modules.size);
  EXPECT_EQ(before, blocks());
}

// A touch of a page that the file has not would be SIGBUS there.
TEST_F(SnapshotFile, AFullFileSystemIsNoFault) {
  if (mount("none", folder_.c_str(), "tmpfs", 0, "size=2m") != 0) {
    GTEST_SKIP() << "no right to mount a tmpfs";
  }
  in_child([&] {
    ScopedArena a(kDefaultLimits, path_.c_str());
    fill(a, 100);
    claim_everything(a.arena.header());
    const int filler = platform::file_create((folder_ + "/filler").c_str());
    const std::string piece(65536, 'x');
    while (platform::file_write(filler, piece.data(), piece.size()) == 0) {
    }
    const auto s = read();
    ASSERT_NE(nullptr, s);
    EXPECT_EQ(100u, s->records.size);
  });
  EXPECT_EQ(0, umount(folder_.c_str()));
}

// Its size is what it was when it was opened.
TEST_F(SnapshotFile, AFileThatBecameShorterIsReadAsFarAsItGoes) {
  uint64_t live = 0;
  uint64_t stacks = 0;
  {
    ScopedArena a(kDefaultLimits, path_.c_str());
    fill(a, 5000);
    live = a.header().section(kLiveSection).offset;
    stacks = a.header().section(kStackSection).offset;
  }
  uint64_t size = 0;
  const int fd = platform::file_open(path_.c_str(), &size);
  ASSERT_GE(fd, 0);
  for (const uint64_t left : {stacks + 4096, stacks, live + 4096, live, uint64_t{4095}, uint64_t{0}}) {
    ASSERT_EQ(0, truncate(path_.c_str(), static_cast<off_t>(left)));
    bool is_arena = false;
    const SnapshotPointer s(Snapshot::read_file(fd, size, &is_arena));
    EXPECT_EQ(left >= 4096, is_arena) << left;
    EXPECT_EQ(left >= 4096, s != nullptr) << left;
  }
  platform::file_close(fd);
}

TEST_F(SnapshotFile, AFileThatIsCutWhileItIsReadIsNoFault) {
  {
    ScopedArena a(kDefaultLimits, path_.c_str());
    fill(a, 5000);
  }
  std::string content(size_t{4} << 20, '\0');
  uint64_t size = 0;
  const int fd = platform::file_open(path_.c_str(), &size);
  ASSERT_GE(fd, 0);
  ASSERT_TRUE(platform::file_read(fd, 0, content.data(), content.size()));
  std::atomic<bool> is_over{false};
  run_threads(2, [&](int thread) {
    if (thread == 0) {
      const int writer = open(path_.c_str(), O_WRONLY);
      while (!is_over) {
        EXPECT_EQ(0, ftruncate(writer, 4096));
        EXPECT_EQ(0, ftruncate(writer, static_cast<off_t>(size)));
        EXPECT_EQ(static_cast<ssize_t>(content.size()), pwrite(writer, content.data(), content.size(), 0));
      }
      close(writer);
      return;
    }
    for (int i = 0; i < 300; ++i) {
      bool is_arena = false;
      SnapshotPointer(Snapshot::read_file(fd, size, &is_arena));
    }
    is_over = true;
  });
  platform::file_close(fd);
}

TEST_F(SnapshotFile, AFileThatIsLargerThanAnythingIsNoMemory) {
  uint64_t size = 0;
  {
    ScopedArena a(kSmallLimits, path_.c_str());
    size = a.header().total_bytes;
  }
  const int fd = platform::file_open(path_.c_str(), &size);
  bool is_arena = false;
  EXPECT_EQ(nullptr, Snapshot::read_file(fd, uint64_t{1} << 62, &is_arena));
  EXPECT_TRUE(is_arena) << "memory is what was missing";
  platform::file_close(fd);
}

TEST_F(SnapshotFile, WritersThatGoOnAreTheNormalCase) {
  ScopedArena a({20000, 40000, 64}, path_.c_str());
  snapshot_test::read_what_is_written(a, 4, [](uint64_t) -> uint64_t { return 1; }, [&] { return read(); });
}

}  // namespace
}  // namespace memprof::snapshot_file_test
