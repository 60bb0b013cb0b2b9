// SPDX-License-Identifier: Apache-2.0
#include "format/programs/preloadable.h"

#include <gtest/gtest.h>

namespace memprof::preloadable_test {
namespace {

const char* sanitizer_in(const char* library) {
  const Sanitizer* const found = sanitizer_of_library(library);
  return found != nullptr ? found->name : "none";
}

TEST(Preloadable, LibrariesOfSanitizers) {
  EXPECT_STREQ("AddressSanitizer", sanitizer_in("libasan.so.8"));
  EXPECT_STREQ("AddressSanitizer", sanitizer_in("/usr/lib/x86_64-linux-gnu/libasan.so.6"));
  EXPECT_STREQ("AddressSanitizer", sanitizer_in("libclang_rt.asan-x86_64.so"));
  EXPECT_STREQ("ThreadSanitizer", sanitizer_in("libtsan.so.2"));
  EXPECT_STREQ("LeakSanitizer", sanitizer_in("liblsan.so.0"));
  EXPECT_STREQ("MemorySanitizer", sanitizer_in("libclang_rt.msan.so"));
  EXPECT_STREQ("HWAddressSanitizer", sanitizer_in("libhwasan.so.0"));
  for (const char* other : {"", "libubsan.so.1", "libclang_rt.ubsan_standalone.so", "libc.so.6",
                            "/opt/libasan.so/x", "xlibasan.so.8"}) {
    EXPECT_STREQ("none", sanitizer_in(other));
  }
}

TEST(Preloadable, WhatSanitizersExport) {
  for (const Sanitizer& sanitizer : kSanitizers) {
    EXPECT_EQ(&sanitizer, sanitizer_of_symbol(sanitizer.init));
  }
  EXPECT_EQ(nullptr, sanitizer_of_symbol("__asan_init_v4"));
  EXPECT_EQ(nullptr, sanitizer_of_symbol("malloc"));
}

TEST(Preloadable, Loaders) {
  for (const char* ours :
       {"/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/opt/glibc/lib/ld-2.31.so",
        "/lib64/ld-lsb-x86-64.so.3", "/lib/ld64.so.2", "ld-linux.so.2"}) {
    EXPECT_EQ(Libc::kGlibc, libc_of_loader(ours)) << ours;
  }
  for (const char* other : {"/lib/ld-uClibc.so.0", "/system/bin/linker64", "", "/ld-linux/x",
                            "/ld-musl-x86_64.so.1/x", "ld-musl"}) {
    EXPECT_EQ(Libc::kOther, libc_of_loader(other)) << other;
  }
  EXPECT_EQ(Libc::kMusl, libc_of_loader("/lib/ld-musl-x86_64.so.1"));
  EXPECT_EQ(Libc::kMusl, libc_of_loader("ld-musl-aarch64.so.1"));
}

}  // namespace
}  // namespace memprof::preloadable_test
