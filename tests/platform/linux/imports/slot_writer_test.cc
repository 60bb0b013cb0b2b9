// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/imports/slot_writer.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>

namespace memprof::slot_writer_test {
namespace {

using platform::SlotWriter;
using platform::Written;

// What the kernel says of the page.
std::string permissions(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long start = 0, limit = 0;
    std::sscanf(line.c_str(), "%lx-%lx", &start, &limit);
    if (reinterpret_cast<uint64_t>(address) - start < limit - start) {
      return line.substr(line.find(' ') + 1, 4);
    }
  }
  return "none";
}

class SlotWriterTest : public testing::Test {
 protected:
  SlotWriterTest()
      : page_bytes(static_cast<size_t>(sysconf(_SC_PAGESIZE))),
        words(static_cast<uint64_t*>(
            mmap(nullptr, 4 * page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {}
  ~SlotWriterTest() override { munmap(words, 4 * page_bytes); }
  uint64_t* page(int i) { return words + i * page_bytes / sizeof(uint64_t); }
  void protect(int i, int protection) { ASSERT_EQ(0, mprotect(page(i), page_bytes, protection)); }
  static uint64_t at(const uint64_t* word) { return reinterpret_cast<uint64_t>(word); }

  const size_t page_bytes;
  uint64_t* const words;
};

TEST_F(SlotWriterTest, WritablePagesStayAsTheyAre) {
  SlotWriter writer;
  EXPECT_EQ(Written::kYes, writer.write(at(page(0)), 0, 7, false));
  EXPECT_EQ(7u, *page(0));
  EXPECT_EQ("rw-p", permissions(page(0)));
}

TEST_F(SlotWriterTest, WhatAnotherThreadWroteMeanwhileStays) {
  SlotWriter writer;
  *page(0) = 5;
  EXPECT_EQ(Written::kChanged, writer.write(at(page(0)), 0, 7, false));
  EXPECT_EQ(5u, *page(0));
}

TEST_F(SlotWriterTest, EachProtectionIsPutBack) {
  protect(0, PROT_READ);
  protect(1, PROT_READ | PROT_EXEC);
  protect(2, PROT_READ);
  {
    SlotWriter writer;
    EXPECT_EQ(Written::kYes, writer.write(at(page(0)), 0, 1, true));
    EXPECT_EQ(Written::kYes, writer.write(at(page(0) + 1), 0, 2, true));
    EXPECT_EQ("rw-p", permissions(page(0))) << "open for the next word of it";
    EXPECT_EQ(Written::kYes, writer.write(at(page(1)), 0, 3, false));
    EXPECT_EQ("r--p", permissions(page(0)));
    writer.finish();
    EXPECT_EQ("r-xp", permissions(page(1)));
    EXPECT_EQ(Written::kYes, writer.write(at(page(2)), 0, 4, true));
  }
  EXPECT_EQ("r--p", permissions(page(2)));
  EXPECT_EQ(1u, page(0)[0]);
  EXPECT_EQ(2u, page(0)[1]);
  EXPECT_EQ(3u, *page(1));
  EXPECT_EQ(4u, *page(2));
}

TEST_F(SlotWriterTest, ARangeIsOpenedAsAWhole) {
  protect(0, PROT_READ);
  protect(1, PROT_READ);
  SlotWriter writer;
  EXPECT_EQ(Written::kYes, writer.write(at(page(1)), 0, 1, true));
  EXPECT_EQ("rw-p", permissions(page(0)));
  EXPECT_EQ(Written::kYes, writer.write(at(page(0)), 0, 2, true));
  EXPECT_EQ("rw-p", permissions(page(2))) << "as it was";
  writer.finish();
  EXPECT_EQ("r--p", permissions(page(0)));
  EXPECT_EQ("r--p", permissions(page(1)));
  EXPECT_EQ("rw-p", permissions(page(2)));
}

TEST_F(SlotWriterTest, ALargeRangeIsOpenedByPages) {
  constexpr size_t kBytes = 2 << 20;
  void* const large = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(MAP_FAILED, large);
  auto* const word = static_cast<uint64_t*>(large);
  const uint64_t* const next = word + page_bytes / sizeof(uint64_t);
  {
    SlotWriter writer;
    EXPECT_EQ(Written::kYes, writer.write(at(word), 0, 1, true));
    EXPECT_EQ("rw-p", permissions(word));
    EXPECT_EQ("r--p", permissions(next));
    EXPECT_EQ(Written::kYes, writer.write(at(next), 0, 2, true));
    EXPECT_EQ("r--p", permissions(word));
  }
  EXPECT_EQ("r--p", permissions(next));
  munmap(large, kBytes);
}

// Whoever restored it would take it from under the loader.
TEST_F(SlotWriterTest, APageThatTheLoaderWillProtectIsNotReady) {
  SlotWriter writer;
  EXPECT_EQ(Written::kNotReady, writer.write(at(page(0)), 0, 7, true));
  EXPECT_EQ(0u, *page(0));
}

TEST_F(SlotWriterTest, WhatIsNotMappedOrNotKnownIsRefused) {
  protect(3, PROT_NONE);
  SlotWriter writer;
  EXPECT_EQ(Written::kRefused, writer.write(at(page(3)), 0, 7, false));
  EXPECT_EQ(Written::kRefused, writer.write(8, 0, 7, false));
  SlotWriter without_list("/no/such/file");
  EXPECT_EQ(Written::kRefused, without_list.write(at(page(0)), 0, 7, false));
  EXPECT_EQ(0u, *page(0));
}

}  // namespace
}  // namespace memprof::slot_writer_test
