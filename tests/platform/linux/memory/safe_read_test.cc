// SPDX-License-Identifier: Apache-2.0
#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

#include "platform/memory.h"

namespace memprof::safe_read_test {
namespace {

using platform::read_memory;

TEST(SafeRead, ReadsWhatIsThere) {
  const char text[] = "what is there";
  char read[sizeof(text)] = "";
  ASSERT_TRUE(read_memory(reinterpret_cast<uint64_t>(text), read, sizeof(text)));
  EXPECT_STREQ(text, read);
}

TEST(SafeRead, NothingOfWhatIsNotAllThere) {
  char* pages =
      static_cast<char*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(MAP_FAILED, static_cast<void*>(pages));
  ASSERT_EQ(0, mprotect(pages + 4096, 4096, PROT_NONE));
  memset(pages, 7, 4096);
  char bytes[16];
  const uint64_t end = reinterpret_cast<uint64_t>(pages) + 4096;
  errno = 12345;
  EXPECT_TRUE(read_memory(end - 16, bytes, 16));
  EXPECT_EQ(7, bytes[15]);
  EXPECT_FALSE(read_memory(end - 15, bytes, 16));
  EXPECT_FALSE(read_memory(end, bytes, 1));
  EXPECT_FALSE(read_memory(0, bytes, 8));
  EXPECT_FALSE(read_memory(UINT64_MAX - 3, bytes, 8));
  EXPECT_EQ(12345, errno);
  munmap(pages, 8192);
}

}  // namespace
}  // namespace memprof::safe_read_test
