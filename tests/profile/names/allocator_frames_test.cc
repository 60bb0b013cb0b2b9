// SPDX-License-Identifier: Apache-2.0
#include "profile/names/allocator_frames.h"

#include <gtest/gtest.h>

namespace memprof::profile {
namespace {

TEST(AllocatorFrames, KnowsTheAllocationFunctions) {
  for (const char* name :
       {"malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc", "__libc_malloc",
        "operator new(unsigned long)", "operator new[](unsigned long)",
        "operator new(unsigned long, std::align_val_t)", "operator new", "_Znwm", "_ZnamRKSt9nothrow_t"}) {
    EXPECT_TRUE(is_allocator_function(name)) << name;
  }
}

TEST(AllocatorFrames, LeavesFunctionsThatOnlySoundAlike) {
  for (const char* name : {"", "my_malloc", "malloc_stats", "xmalloc", "Foo::malloc", "operator new_thing",
                           "mallocs", "Thing::operator new(unsigned long)", "newoperator"}) {
    EXPECT_FALSE(is_allocator_function(name)) << name;
  }
}

TEST(AllocatorFrames, VeryLongNamesAreNoneAndDoNotOverflow) {
  EXPECT_FALSE(is_allocator_function("operator new(" + std::string(10'000'000, 'x') + ")"));
}

TEST(AllocatorFrames, WhatAnAllocatorReportsThroughIsNotTheProgram) {
  for (const char* name : {"memprof_report_alloc", "memprof_report_alloc_inline", "memprof_report_realloc",
                           "memprof_report_realloc_inline", "memprof_report_realloc_end"}) {
    EXPECT_TRUE(is_allocator_function(name)) << name;
  }
  EXPECT_FALSE(is_allocator_function("memprof_report_free_range"));
}

}  // namespace
}  // namespace memprof::profile
