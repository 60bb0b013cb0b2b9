// SPDX-License-Identifier: Apache-2.0
#include "platform/memory.h"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cstring>

namespace memprof::copy_text_test {
namespace {

constexpr size_t kPage = 4096;

TEST(CopyText, ATextIsReadToItsEndOrAsFarAsItFits) {
  char copy[8];
  EXPECT_TRUE(platform::copy_text("", copy, sizeof(copy)));
  EXPECT_STREQ("", copy);
  EXPECT_TRUE(platform::copy_text("1234567", copy, sizeof(copy)));
  EXPECT_STREQ("1234567", copy);
  EXPECT_TRUE(platform::copy_text("12345678", copy, sizeof(copy)));
  EXPECT_STREQ("1234567", copy);
}

TEST(CopyText, NothingBehindItsEndIsRead) {
  char* const pages = static_cast<char*>(
      mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(MAP_FAILED, static_cast<void*>(pages));
  memcpy(pages + kPage - 3, "abcdef", 7);  // over the border
  char copy[100];
  EXPECT_TRUE(platform::copy_text(pages + kPage - 3, copy, sizeof(copy)));
  EXPECT_STREQ("abcdef", copy);
  munmap(pages + kPage, kPage);
  EXPECT_FALSE(platform::copy_text(pages + kPage - 3, copy, sizeof(copy)));  // it has no end
  EXPECT_TRUE(platform::copy_text(pages + kPage - 3, copy, 4));
  EXPECT_STREQ("abc", copy);
  pages[kPage - 1] = '\0';
  EXPECT_TRUE(platform::copy_text(pages + kPage - 3, copy, sizeof(copy)));
  EXPECT_STREQ("ab", copy);
  munmap(pages, kPage);
}

TEST(CopyText, WhatIsNoMemory) {
  char copy[100];
  EXPECT_FALSE(platform::copy_text(nullptr, copy, sizeof(copy)));
  EXPECT_FALSE(platform::copy_text(reinterpret_cast<const char*>(8), copy, sizeof(copy)));
  EXPECT_FALSE(platform::copy_text(reinterpret_cast<const char*>(UINTPTR_MAX), copy, sizeof(copy)));
}

}  // namespace
}  // namespace memprof::copy_text_test
