// SPDX-License-Identifier: Apache-2.0
#include "platform/memory.h"

#include <gtest/gtest.h>

#include <cstring>

#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

TEST(WindowsMemory, WhatIsNotThereIsNotRead) {
  const int value = 42;
  int copy = 0;
  EXPECT_TRUE(read_memory(address_of(&value), &copy, sizeof(copy)));
  EXPECT_EQ(copy, 42);
  EXPECT_FALSE(read_memory(8, &copy, sizeof(copy)));
  EXPECT_FALSE(read_memory(UINT64_MAX - 100, &copy, sizeof(copy)));
}

// Its server reads reserved memory as zeros.
bool is_wine() {
  return GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != nullptr;
}

TEST(WindowsMemory, TextsAreCopiedToTheEndOfTheirPage) {
  auto* pages = static_cast<char*>(VirtualAlloc(nullptr, 8192, MEM_RESERVE, PAGE_READWRITE));
  ASSERT_NE(VirtualAlloc(pages, 4096, MEM_COMMIT, PAGE_READWRITE), nullptr);
  strcpy(pages + 4090, "hello");
  char copy[100];
  EXPECT_TRUE(copy_text(pages + 4090, copy, sizeof(copy)));
  EXPECT_STREQ(copy, "hello");
  pages[4095] = '!';
  EXPECT_EQ(copy_text(pages + 4090, copy, sizeof(copy)), is_wine());
  EXPECT_TRUE(copy_text(pages + 4090, copy, 4));
  EXPECT_STREQ(copy, "hel");
  VirtualFree(pages, 0, MEM_RELEASE);
}

TEST(WindowsMemory, TheProcessHasSome) {
  uint64_t max = 0;
  SetLastError(77);
  EXPECT_GT(resident_bytes(&max), 100000u);
  EXPECT_GT(max, 100000u);
  EXPECT_EQ(GetLastError(), 77u);
}

}  // namespace
}  // namespace memprof::platform
