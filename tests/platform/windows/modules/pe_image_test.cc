// SPDX-License-Identifier: Apache-2.0
#include "platform/windows/modules/pe_image.h"

#include <gtest/gtest.h>

#include <cstring>

#include "platform/windows/system.h"

namespace memprof::platform {
namespace {

PeImage image_of(const wchar_t* name) {
  PeImage image;
  EXPECT_TRUE(image.open(address_of(GetModuleHandleW(name))));
  return image;
}

TEST(WindowsPeImage, ExportsAreThoseOfTheSystem) {
  const PeImage ntdll = image_of(L"ntdll.dll");
  for (const char* name : {"RtlAllocateHeap", "RtlUserThreadStart", "NtClose"}) {
    const auto address =
        address_of(reinterpret_cast<const void*>(GetProcAddress(GetModuleHandleW(L"ntdll.dll"), name)));
    EXPECT_EQ(ntdll.find_export(name), address);
    uint64_t start = 0;
    ASSERT_NE(ntdll.export_at(address + 1, &start), nullptr);
    EXPECT_EQ(start, address);
  }
  EXPECT_EQ(ntdll.find_export("NoSuchFunction"), 0u);
}

TEST(WindowsPeImage, FunctionsAreThoseOfTheSystem) {
  const PeImage ntdll = image_of(L"ntdll.dll");
  ASSERT_GT(ntdll.function_count(), 100u);
  for (uint32_t i = 0; i < ntdll.function_count(); i += 7) {
    const FunctionRange& range = ntdll.functions()[i];
    DWORD64 base = 0;
    const auto* entry = RtlLookupFunctionEntry(ntdll.start() + range.begin + 1, &base, nullptr);
    ASSERT_NE(entry, nullptr);
    EXPECT_EQ(entry->BeginAddress,
              find_function(ntdll.functions(), ntdll.function_count(), range.begin + 1)->begin);
  }
  EXPECT_EQ(find_function(ntdll.functions(), ntdll.function_count(), 0), nullptr);
  EXPECT_EQ(find_function(ntdll.functions(), ntdll.function_count(), UINT32_MAX), nullptr);
}

TEST(WindowsPeImage, HasABuildId) {
  uint8_t id[32];
  const uint32_t bytes = image_of(L"ntdll.dll").read_build_id(id, sizeof(id));
  EXPECT_TRUE(bytes == 8 || bytes == 20) << bytes;
  EXPECT_EQ(image_of(L"ntdll.dll").read_build_id(id, 4), 0u);
}

TEST(WindowsPeImage, OtherMemoryIsNone) {
  alignas(16) char memory[4096] = {};
  PeImage image;
  EXPECT_FALSE(image.open(address_of(memory)));
  memcpy(memory, "MZ", 2);
  memory[0x3c] = 64;
  EXPECT_FALSE(image.open(address_of(memory)));
}

}  // namespace
}  // namespace memprof::platform
