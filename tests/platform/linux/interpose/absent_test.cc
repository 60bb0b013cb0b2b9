// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/interpose/absent.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <string.h>
#include <sys/auxv.h>

#include <cstdint>
#include <cstdlib>

namespace memprof::interpose {
namespace {

// An allocator that is asked through g_real, and what it was asked for last.
struct Asked {
  const char* function = "";
  size_t alignment = 0;
  size_t size = 0;
} g_asked;

void* fake(const char* function, size_t alignment, size_t size) {
  g_asked = {function, alignment, size};
  void* block = nullptr;
  return ::posix_memalign(&block, alignment, size) == 0 ? block : nullptr;
}
void* fake_malloc(size_t size) {
  void* block = fake("malloc", 16, size);
  return block != nullptr ? memset(block, 0xff, size) : nullptr;
}
void fake_free(void* block) {
  g_asked = {"free", 0, 0};
  ::free(block);
}
int fake_posix_memalign(void** block, size_t alignment, size_t size) {
  *block = fake("posix_memalign", alignment, size);
  return *block != nullptr ? 0 : ENOMEM;
}
void* fake_memalign(size_t alignment, size_t size) {
  return fake("memalign", alignment, size);
}
void* fake_aligned_alloc(size_t alignment, size_t size) {
  return fake("aligned_alloc", alignment, size);
}

bool is_whole(const Real& r) {
  return r.malloc != nullptr && r.free != nullptr && r.calloc != nullptr && r.realloc != nullptr &&
         r.posix_memalign != nullptr && r.aligned_alloc != nullptr && r.memalign != nullptr &&
         r.valloc != nullptr && r.pvalloc != nullptr && r.malloc_usable_size != nullptr &&
         r.free_sized != nullptr && r.free_aligned_sized != nullptr;
}

class Absent : public testing::Test {
 protected:
  Absent() {
    real_.malloc = fake_malloc;
    real_.free = fake_free;
  }
  ~Absent() override { g_real = saved_; }

  void publish() {
    complete(&real_);
    ASSERT_TRUE(is_whole(real_));
    g_real = real_;
  }

  // What each of the aligned functions asks for, if `by` is the one that the allocator has.
  void expect_aligned_by(const char* by, size_t multiple) {
    const size_t page = getauxval(AT_PAGESZ);
    const auto expect_asked = [&](void* block, size_t alignment, size_t size) {
      EXPECT_NE(nullptr, block);
      EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(block) % alignment);
      EXPECT_STREQ(by, g_asked.function);
      EXPECT_EQ(alignment, g_asked.alignment);
      EXPECT_EQ((size + multiple - 1) / multiple * multiple, g_asked.size);
      g_real.free(block);
    };
    void* block = nullptr;
    EXPECT_EQ(0, g_real.posix_memalign(&block, 64, 640));
    expect_asked(block, 64, 640);
    expect_asked(g_real.memalign(64, 640), 64, 640);
    expect_asked(g_real.aligned_alloc(64, 640), 64, 640);
    expect_asked(g_real.pvalloc(page + 1), page, 2 * page);
    block = g_real.valloc(100);
    EXPECT_EQ(0u, reinterpret_cast<uintptr_t>(block) % page);
    EXPECT_STREQ(by, g_asked.function);
    g_real.free(block);
  }

  Real real_{};

 private:
  Real saved_ = g_real;
};

TEST_F(Absent, WhatIsThereStays) {
  real_.memalign = fake_memalign;
  real_.aligned_alloc = fake_aligned_alloc;
  publish();
  EXPECT_EQ(&fake_malloc, real_.malloc);
  EXPECT_EQ(&fake_memalign, real_.memalign);
  EXPECT_EQ(&fake_aligned_alloc, real_.aligned_alloc);
}

TEST_F(Absent, AlignedBlocksComeFromTheFunctionThatIsThere) {
  real_.posix_memalign = fake_posix_memalign;
  publish();
  expect_aligned_by("posix_memalign", 1);
}

TEST_F(Absent, AlsoByMemalign) {
  real_.memalign = fake_memalign;
  publish();
  expect_aligned_by("memalign", 1);
}

TEST_F(Absent, AlsoByAlignedAllocWhoseSizesAreMultiples) {
  real_.aligned_alloc = fake_aligned_alloc;
  publish();
  expect_aligned_by("aligned_alloc", 64);
  void* block = g_real.memalign(64, 65);
  EXPECT_EQ(128u, g_asked.size);
  g_real.free(block);
  EXPECT_EQ(nullptr, g_real.memalign(64, SIZE_MAX - 3));
}

TEST_F(Absent, WithoutOneTheyFail) {
  publish();
  errno = 0;
  void* block = this;
  EXPECT_EQ(ENOMEM, g_real.posix_memalign(&block, 64, 640));
  EXPECT_EQ(this, block);
  EXPECT_EQ(0, errno);
  for (const auto& call :
       {+[] { return g_real.memalign(64, 640); }, +[] { return g_real.aligned_alloc(64, 640); },
        +[] { return g_real.valloc(100); }, +[] { return g_real.pvalloc(100); },
        +[] { return g_real.pvalloc(SIZE_MAX - 10); }}) {
    errno = 0;
    EXPECT_EQ(nullptr, call());
    EXPECT_EQ(ENOMEM, errno);
  }
}

TEST_F(Absent, AnAlignmentThatIsNoneIsRefused) {
  real_.memalign = fake_memalign;
  publish();
  void* block = this;
  EXPECT_EQ(EINVAL, g_real.posix_memalign(&block, 48, 640));
  EXPECT_EQ(EINVAL, g_real.posix_memalign(&block, 2, 640));
  EXPECT_EQ(EINVAL, g_real.posix_memalign(&block, 0, 640));
  EXPECT_EQ(this, block);
  errno = 0;
  EXPECT_EQ(nullptr, g_real.aligned_alloc(48, 640));
  EXPECT_EQ(EINVAL, errno);
}

TEST_F(Absent, CallocIsZeroAndReallocSaysNo) {
  publish();
  auto* block = static_cast<unsigned char*>(g_real.calloc(10, 10));
  ASSERT_NE(nullptr, block);
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(0, block[i]);
  }
  errno = 0;
  EXPECT_EQ(nullptr, g_real.calloc(SIZE_MAX / 2, 3));
  EXPECT_EQ(ENOMEM, errno);
  errno = 0;
  EXPECT_EQ(nullptr, g_real.realloc(block, 1000));
  EXPECT_EQ(ENOMEM, errno);
  void* fresh = g_real.realloc(nullptr, 10);
  EXPECT_NE(nullptr, fresh);
  EXPECT_EQ(0u, g_real.malloc_usable_size(fresh));
  g_real.free_sized(fresh, 10);
  EXPECT_STREQ("free", g_asked.function);
  g_asked = {};
  g_real.free_aligned_sized(block, 16, 100);
  EXPECT_STREQ("free", g_asked.function);
}

}  // namespace
}  // namespace memprof::interpose
