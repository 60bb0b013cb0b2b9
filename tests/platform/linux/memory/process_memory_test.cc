// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <string>

#include "platform/process.h"
#include "platform/resident.h"

namespace memprof::process_memory_test {
namespace {

constexpr size_t kBytes = size_t{8} << 20;

class Half {
 public:
  Half()
      : start_(static_cast<char*>(
            mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    madvise(start_, kBytes, MADV_NOHUGEPAGE);
    memset(start_, 1, kBytes / 2);
  }
  ~Half() { munmap(start_, kBytes); }
  uint64_t address() const { return reinterpret_cast<uint64_t>(start_); }

 private:
  char* start_;
};

void expect_half(uint64_t process_id) {
  const Half half;
  pid_t child = 0;
  if (process_id != 0) {
    child = fork();
    if (child == 0) {
      pause();
      _exit(0);
    }
    process_id = static_cast<uint64_t>(child);
  }
  platform::MemoryView view;
  ASSERT_EQ(0, platform::open_memory(process_id, &view));
  EXPECT_EQ(child == 0, view.is_own);
  platform::MemoryTotals totals;
  ASSERT_EQ(0, platform::read_memory_totals(view, &totals));
  // The child may not have run yet.
  for (int tries = 0; tries < 10'000 && platform::cpu_ns_of(view) == 0; ++tries) usleep(1000);
  EXPECT_LT(0u, platform::cpu_ns_of(view));
  EXPECT_EQ(totals.resident_bytes, totals.anonymous_bytes + totals.file_bytes + totals.shared_bytes);
  EXPECT_EQ(kBytes / 2, platform::pages_in_memory(view, platform::PagesOf::kPrivate, half.address(),
                                                  half.address() + kBytes));
  EXPECT_EQ(kBytes / 2, platform::pages_in_memory(view, platform::PagesOf::kFile, half.address(),
                                                  half.address() + kBytes));
  EXPECT_EQ(0u, platform::pages_in_memory(view, platform::PagesOf::kPrivate, 5, 5));
  std::string text;
  char piece[1000];
  while (const size_t got = platform::read_memory_map(view, piece, sizeof(piece))) text.append(piece, got);
  EXPECT_NE(std::string::npos, text.find("[stack]"));
  EXPECT_EQ(child != 0, text.find("Rss:") != std::string::npos);
  char bytes[16] = {};
  EXPECT_TRUE(platform::read_memory_of(view, half.address() + 100, bytes, sizeof(bytes)));
  EXPECT_EQ(1, bytes[15]);
  EXPECT_FALSE(platform::read_memory_of(view, 16, bytes, sizeof(bytes)));
  platform::close_memory(&view);
  if (child != 0) {
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
  }
}

TEST(ProcessMemoryTest, WhatIsMostlyEmpty) {
  constexpr size_t kTebibyte = size_t{1} << 40;
  void* const start =
      mmap(nullptr, kTebibyte, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) {
    GTEST_SKIP() << "no address space for a tebibyte";
  }
  madvise(start, kTebibyte, MADV_NOHUGEPAGE);
  for (size_t i = 0; i < 100; ++i) {  // more pieces than one answer of the system has
    static_cast<char*>(start)[(size_t{1} << 30) * i] = 1;
  }
  platform::MemoryView view;
  ASSERT_EQ(0, platform::open_memory(0, &view));
  const auto address = reinterpret_cast<uint64_t>(start);
  const auto count = [&] {
    return platform::pages_in_memory(view, platform::PagesOf::kPrivate, address,
                                     address + (size_t{100} << 30));
  };
  const auto page = static_cast<uint64_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(100 * page, count());
  close(view.pages);
  view.pages = -1;  // as where the system does not scan
  EXPECT_EQ(100 * page, count());
  platform::close_memory(&view);
  munmap(start, kTebibyte);
}

TEST(ProcessMemory, OfThisProcess) {
  expect_half(0);
}

TEST(ProcessMemory, OfAnotherProcess) {
  expect_half(1);
}

TEST(ProcessMemory, OfNone) {
  platform::MemoryView view;
  EXPECT_EQ(-ENOENT, platform::open_memory(UINT64_C(1) << 40, &view));
  platform::set_sandboxed(true);
  EXPECT_EQ(-EPERM, platform::open_memory(0, &view));
  platform::set_sandboxed(false);
}

}  // namespace
}  // namespace memprof::process_memory_test
