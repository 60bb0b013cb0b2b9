// SPDX-License-Identifier: Apache-2.0
#include "platform/posix/file_calls.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace memprof::platform_file_calls_test {
namespace {

// A call that first is interrupted, and then moves three bytes at a time.
class Halting {
 public:
  bool is_interrupted() {
    errno = EINTR;
    return ++calls_ % 2 == 1;
  }
  static size_t step(size_t size_bytes) { return std::min<size_t>(size_bytes, 3); }

 private:
  int calls_ = 0;
};

TEST(FileCalls, WritesAllInPieces) {
  Halting halting;
  std::string written;
  const int error = platform::write_all("0123456789", 10, [&](const char* at, size_t size_bytes) -> long {
    if (halting.is_interrupted()) return -1;
    written.append(at, Halting::step(size_bytes));
    return static_cast<long>(Halting::step(size_bytes));
  });
  EXPECT_EQ(0, error);
  EXPECT_EQ("0123456789", written);
}

TEST(FileCalls, AWriteThatFailsEndsThere) {
  int calls = 0;
  const int error = platform::write_all("01", 2, [&](const char*, size_t) -> long {
    errno = ENOSPC;
    return ++calls == 1 ? 1 : -1;
  });
  EXPECT_EQ(-ENOSPC, error);
  EXPECT_EQ(2, calls);
}

TEST(FileCalls, ReadsAllInPieces) {
  Halting halting;
  const std::string file = "0123456789";
  char bytes[6] = {};
  const bool is_there =
      platform::read_all(2, bytes, 5, [&](char* at, size_t size_bytes, uint64_t offset) -> long {
        if (halting.is_interrupted()) return -1;
        return static_cast<long>(file.copy(at, Halting::step(size_bytes), offset));
      });
  EXPECT_TRUE(is_there);
  EXPECT_STREQ("23456", bytes);
}

TEST(FileCalls, AnEndOrAnErrorIsNotAllOfIt) {
  char bytes[4] = {};
  for (const long result : {0L, -1L}) {
    int calls = 0;
    EXPECT_FALSE(platform::read_all(0, bytes, sizeof(bytes), [&](char*, size_t, uint64_t) {
      errno = EIO;
      return ++calls == 1 ? 2L : result;
    }));
    EXPECT_EQ(2, calls);
  }
}

}  // namespace
}  // namespace memprof::platform_file_calls_test
