// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/code/mapping_code.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

#include "core/mappings/mappings.h"

namespace memprof::platform::mapping_code_test {
namespace {

uint64_t g_site_call;     // where the hooked function calls on
uint64_t g_mapping_call;  // where the one that maps calls the hook

[[gnu::noinline]] bool is_allocators_in_hook() {
  const auto caller = reinterpret_cast<uint64_t>(__builtin_return_address(0));
  bool is = mappings::caller_kind(reinterpret_cast<const void*>(caller), {__builtin_frame_address(0)}) ==
            MappedBy::kAllocator;
  asm volatile("" : "+r"(is));  // no tail call
  g_mapping_call = caller;
  return is;
}

[[gnu::noinline]] bool maps() {
  g_site_call = reinterpret_cast<uint64_t>(__builtin_return_address(0));
  bool is = is_allocators_in_hook();
  asm volatile("" : "+r"(is));
  return is;
}

[[gnu::noinline]] bool allocates() {
  bool is = maps();
  asm volatile("" : "+r"(is));
  return is;
}

TEST(MappingCodeTest, WhatItsFunctionsMapIsTheAllocatorsWhileItsBlocksAreSeen) {
  ASSERT_FALSE(allocates());
  auto heap = std::make_unique<InnerHeap>();
  HookSite site{};
  site.address = g_site_call - 1;  // the code around the call
  site.size_bytes = 1;
  heap->sites = &site;
  heap->site_count = 1;
  note_mapping_code(*heap);
  EXPECT_TRUE(allocates()) << "a hooked function is on the stack";
  EXPECT_FALSE(is_allocators_in_hook());
  forget_mapping_code(*heap);
  EXPECT_FALSE(allocates());
}

TEST(MappingCodeTest, FunctionsThatAreNotHookedMapForItToo) {
  ASSERT_FALSE(allocates());
  auto heap = std::make_unique<InnerHeap>();
  heap->mapping[heap->mapping_count++] = {g_mapping_call - 1, g_mapping_call};
  note_mapping_code(*heap);
  EXPECT_TRUE(allocates());
  forget_mapping_code(*heap);
  EXPECT_FALSE(allocates());
}

}  // namespace
}  // namespace memprof::platform::mapping_code_test
