// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/target/musl_frames.h"

#include <gtest/gtest.h>

namespace memprof::cli {
namespace {

constexpr uint64_t kProgram = 0x1000;

// read, malloc, exit and memset, which has no size; between them are functions without a name.
TargetImage musl() {
  TargetImage image;
  image.code = {{0x10000, 0x20000}};
  image.functions = {{0x11000, 0x40, "read"},
                     {0x12000, 0x80, "malloc"},
                     {0x13000, 0x20, "exit"},
                     {0x14000, 0, "memset"},
                     {0x15000, 0x20, "__qsort_r"},
                     {0x15000, 0x20, "qsort_r"},
                     {0x16000, 0x30, "__libc_start_main"},
                     {0x17000, 0x30, "pthread_cond_wait"},
                     {0x17800, 0x30, "pthread_mutex_unlock"}};
  return image;
}

constexpr uint64_t kRead = 0x11010, kMalloc = 0x12010, kExit = 0x13004, kMemset = 0x14020, kSort = 0x15004,
                   kLocal = 0x18000;

TEST(MuslFrames, TheProgramItself) {
  EXPECT_EQ(unsafe_in_musl(musl(), {kProgram, kProgram}), "");
  EXPECT_EQ(unsafe_in_musl(musl(), {kProgram, kProgram, kLocal}), "") << "called by start code";
  EXPECT_EQ(unsafe_in_musl(musl(), {kProgram, 0x16010}), "");
  EXPECT_EQ(unsafe_in_musl(musl(), {kProgram, 0x16010, kProgram}), "");
}

TEST(MuslFrames, WhatTheProgramCalledTells) {
  EXPECT_EQ(unsafe_in_musl(musl(), {kLocal, kLocal, kRead, kProgram, kLocal}), "");
  EXPECT_EQ(unsafe_in_musl(musl(), {kMemset, kProgram, kLocal}), "");
  EXPECT_EQ(unsafe_in_musl(musl(), {kMemset, kMalloc, kProgram, kLocal}), "malloc");
  EXPECT_EQ(unsafe_in_musl(musl(), {kLocal, kMalloc, kProgram, kLocal}), "malloc");
  EXPECT_EQ(unsafe_in_musl(musl(), {kRead, kLocal, kProgram, kLocal}), "musl")
      << "who calls read is not known";
  EXPECT_EQ(unsafe_in_musl(musl(), {kMemset + 0x20, kProgram, kLocal}), "musl")
      << "behind what memset may have";
}

TEST(MuslFrames, CallbacksOfTheProgram) {
  EXPECT_EQ(unsafe_in_musl(musl(), {kProgram, kLocal, kSort, kProgram, kLocal}), "")
      << "one of its names is known";
  EXPECT_EQ(unsafe_in_musl(musl(), {kProgram, kLocal, kExit, kLocal}), "musl") << "a handler at the end";
  EXPECT_EQ(unsafe_in_musl(musl(), {kProgram, kLocal, kProgram, kLocal}), "musl");
  EXPECT_EQ(unsafe_in_musl(musl(), {kProgram, kLocal, kLocal}), "musl") << "a constructor";
}

TEST(MuslFrames, WhatKeepsMmapWaitingIsUnsafeWhoeverCalledIt) {
  EXPECT_EQ(unsafe_in_musl(musl(), {kLocal, 0x17010, kProgram, kLocal}), "") << "waits";
  EXPECT_EQ(unsafe_in_musl(musl(), {0x17810, 0x17010, kProgram, kLocal}), "pthread_mutex_unlock");
  EXPECT_EQ(unsafe_in_musl(musl(), {kLocal, 0x17810, 0x17010, kProgram, kLocal}), "pthread_mutex_unlock");
  EXPECT_EQ(unsafe_in_musl(musl(), {kProgram, 0x17820, kProgram, kLocal}), "pthread_mutex_unlock");
}

TEST(MuslFrames, OneReturnAddress) {
  EXPECT_EQ(unsafe_in_musl(musl(), kRead + 1, false), "");
  EXPECT_EQ(unsafe_in_musl(musl(), 0x11041, false), "musl") << "behind the function";
  EXPECT_EQ(unsafe_in_musl(musl(), kMalloc, false), "malloc");
  EXPECT_EQ(unsafe_in_musl(musl(), kLocal, false), "musl");
  EXPECT_EQ(unsafe_in_musl(musl(), kLocal, true), "");
  EXPECT_EQ(unsafe_in_musl(musl(), kExit, true), "exit") << "never returns, too";
}

TEST(MuslFrames, AThreadInItsStartCode) {
  EXPECT_EQ(unsafe_in_musl(musl(), {kLocal}), "musl");
}

TEST(MuslFrames, TheLibraryIsKnownByItsFunctions) {
  TargetImage image;
  EXPECT_FALSE(is_musl_library(image));
  for (const char* name : {"__dls3", "__libc_start_main", "dlopen"}) image.addresses[name] = 1;
  EXPECT_TRUE(is_musl_library(image));
}

}  // namespace
}  // namespace memprof::cli
