// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/imports/patched_slots.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "memprof.h"
#include "tests/platform/linux/imports/patched_libraries.h"
#include "tests/support/engine.h"
#include "tests/support/import_fixtures.h"

namespace memprof::import_patch_test {
namespace {

constexpr uint64_t kMs = 1'000'000;

// What a tool does that patches imports as well: it writes over whatever is there, and does not put protections back.
void write_over(const std::string& path, const char* name, void* value) {
  for (uint64_t* slot : slots(path, name)) {
    const auto page_bytes = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
    const uintptr_t page = reinterpret_cast<uintptr_t>(slot) & ~(page_bytes - 1);
    ASSERT_EQ(0, mprotect(reinterpret_cast<void*>(page), page_bytes, PROT_READ | PROT_WRITE));
    *slot = reinterpret_cast<uint64_t>(value);
  }
}

void* real(const char* name) {
  return dlsym(RTLD_DEFAULT, name);
}

void* malloc_of_another_tool(size_t size) {
  return plain_malloc(size);
}

TEST(PatchedSlots, WhatAnotherToolPutsBackIsPatchedAgain) {
  in_child([] {
    const Library library("now");
    void* const malloc_address = real("malloc");
    void* const free_address = real("free");
    start();
    expect_is_seen(library);
    EXPECT_EQ(0u, stats().import_taken);
    void* unseen = nullptr;
    bool is_unseen = false;
    // On a busy machine a look at the slots may be due before the block is allocated.
    for (int tries = 0; tries < 50 && !is_unseen; ++tries) {
      library.free(unseen);
      write_over(library.path, "malloc", malloc_address);
      write_over(library.path, "free", free_address);
      unseen = library.allocate(2003);
      is_unseen = recorded(unseen) == kNone;  // it takes a snapshot: that is when they are noticed
    }
    EXPECT_TRUE(is_unseen);
    expect_is_seen(library);
    EXPECT_GE(stats().import_taken, 2u);
    EXPECT_GT(stats().import_unseen_ns, 0u);
    const uint64_t unseen_ns = stats().import_unseen_ns;
    usleep(20'000);
    expect_is_seen(library);
    EXPECT_EQ(unseen_ns, stats().import_unseen_ns) << "the gap has ended";
    library.free(unseen);
  });
}

TEST(PatchedSlots, WhatAnotherToolHasStaysItsUntilItPutsItBack) {
  in_child([] {
    const Library library("now");
    void* const malloc_address = real("malloc");
    start();
    write_over(library.path, "malloc", reinterpret_cast<void*>(malloc_of_another_tool));
    for (int i = 0; i < 3; ++i) {
      void* block = library.allocate(2003);
      EXPECT_EQ(kNone, recorded(block));
      library.free(block);
      for (uint64_t* slot : slots(library.path, "malloc")) {
        if (*slot != reinterpret_cast<uint64_t>(malloc_address)) {
          EXPECT_EQ(reinterpret_cast<uint64_t>(malloc_of_another_tool), *slot);
        }
      }
      usleep(2'000);
    }
    const uint64_t taken = stats().import_taken;
    const uint64_t unseen_ns = stats().import_unseen_ns;
    EXPECT_GE(taken, 1u);
    EXPECT_GE(unseen_ns, 4 * kMs) << "it goes on";
    write_over(library.path, "malloc", malloc_address);
    EXPECT_EQ(MEMPROF_OK, memprof_rescan_imports());
    expect_is_seen(library);
    EXPECT_GT(stats().import_taken, taken);
    EXPECT_GE(stats().import_unseen_ns, unseen_ns);
  });
}

// Slots of modules that the process began with are looked at by samples: nobody has to ask for anything.
TEST(PatchedSlots, ASampleNoticesIt) {
  if (testing_support::kSanitized) {
    GTEST_SKIP() << "malloc is a sanitizer's, which has no slot for it";
  }
  in_child([] {
    void* const malloc_address = real("malloc");
    Dl_info info;
    ASSERT_NE(0, dladdr(malloc_address, &info));
    const std::string c_library = info.dli_fname;
    ASSERT_FALSE(slots(c_library, "malloc").empty());
    const Library library("now");
    start();
    write_over(c_library, "malloc", malloc_address);
    usleep(20'000);
    library.free(library.allocate(2003));  // at rate 0: a sample
    for (const uint64_t* slot : slots(c_library, "malloc")) {
      EXPECT_NE(reinterpret_cast<uint64_t>(malloc_address), *slot);
    }
    EXPECT_GE(stats().import_taken, 1u);
  });
}

TEST(ImportGap, LastsFromTheLastIntactLookToTheNext) {
  platform::ImportGap gap;
  EXPECT_FALSE(gap.is_due(1000 * kMs)) << "nothing is patched yet";
  gap.begin(1000 * kMs);
  EXPECT_FALSE(gap.is_due(1001 * kMs));
  EXPECT_TRUE(gap.is_due(1005 * kMs));
  gap.note({0, 0, 0}, true, 1100 * kMs);
  EXPECT_EQ(0u, gap.unseen_ns());
  gap.note({0, 7, 0}, true, 1300 * kMs);  // another tool has them
  EXPECT_EQ(200 * kMs, gap.unseen_ns());
  EXPECT_EQ(7u, gap.slots());
  gap.note({0, 7, 0}, true, 1400 * kMs);
  EXPECT_EQ(300 * kMs, gap.unseen_ns());
  EXPECT_EQ(7u, gap.slots()) << "it was counted";
  gap.note({3, 0, 0}, false, 1500 * kMs);  // put back; the other four were not looked at
  EXPECT_EQ(400 * kMs, gap.unseen_ns());
  gap.note({4, 0, 0}, true, 1600 * kMs);
  EXPECT_EQ(500 * kMs, gap.unseen_ns());
  EXPECT_EQ(14u, gap.slots());
  gap.note({0, 0, 0}, true, 2000 * kMs);
  EXPECT_EQ(500 * kMs, gap.unseen_ns());
  gap.note({1, 0, 1}, true, 2010 * kMs);  // it cannot be written: the gap goes on
  gap.note({1, 0, 1}, true, 2020 * kMs);
  EXPECT_EQ(520 * kMs, gap.unseen_ns());
  gap.begin(2030 * kMs);
  gap.note({0, 0, 0}, true, 3000 * kMs);
  EXPECT_EQ(520 * kMs, gap.unseen_ns());
}

}  // namespace
}  // namespace memprof::import_patch_test
