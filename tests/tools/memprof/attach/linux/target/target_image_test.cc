// SPDX-License-Identifier: Apache-2.0
#include "memprof/attach/linux/target/target_image.h"

#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace memprof::cli {
namespace {

struct Own {
  Own() : memory(static_cast<uint64_t>(getpid()), TargetMemory::Access::kRead) {
    int error = 0;
    ranges = memory_ranges(static_cast<uint64_t>(getpid()), &error);
    images = read_images(memory, ranges);
  }
  const TargetImage* with(const char* function) const {
    const auto found = std::find_if(images.begin(), images.end(),
                                    [&](const TargetImage& image) { return image.function(function) != 0; });
    return found != images.end() ? &*found : nullptr;
  }

  TargetMemory memory;
  std::vector<MemoryRange> ranges;
  std::vector<TargetImage> images;
};

TEST(TargetImage, ExportedFunctions) {
  const Own own;
  const TargetImage* c_library = own.with("gnu_get_libc_version");
  ASSERT_NE(c_library, nullptr);
  void* known = dlsym(RTLD_DEFAULT, "gnu_get_libc_version");
  EXPECT_EQ(c_library->function("gnu_get_libc_version"), reinterpret_cast<uint64_t>(known));
  EXPECT_EQ(c_library->function("no such function"), 0u);
  EXPECT_TRUE(std::any_of(c_library->code.begin(), c_library->code.end(), [&](const CodeRange& range) {
    return range.contains(reinterpret_cast<uint64_t>(known));
  }));
  EXPECT_NE(c_library->path.find("libc"), std::string::npos);
}

TEST(TargetImage, TheKernelsOwnLibrary) {
  const Own own;
  const TargetImage* image = own.with("__vdso_clock_gettime");
  if (image == nullptr) GTEST_SKIP() << "this kernel maps no library of its own";
  EXPECT_EQ(image->path, "[vdso]");
}

// The library in the process reads whole files through mappings; they seemed to reach over what lies behind them.
TEST(TargetImage, AFileThatIsOnlyReadIsNone) {
  const std::string path = Own().with("gnu_get_libc_version")->path;
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(file, 0);
  constexpr size_t kBytes = 4096;
  void* mapped = mmap(nullptr, kBytes, PROT_READ, MAP_PRIVATE, file, 0);
  close(file);
  ASSERT_NE(mapped, MAP_FAILED);
  const Own own;
  const auto start = reinterpret_cast<uint64_t>(mapped);
  ASSERT_NE(range_at(own.ranges, start), nullptr);
  EXPECT_EQ(range_at(own.ranges, start)->path, path);
  for (const TargetImage& image : own.images) EXPECT_NE(image.start, start);
  EXPECT_NE(own.with("gnu_get_libc_version"), nullptr);
  munmap(mapped, kBytes);
}

TEST(TargetImage, UnwindTables) {
  const Own own;
  const TargetImage* c_library = own.with("gnu_get_libc_version");
  ASSERT_NE(c_library, nullptr);
  const std::string file = read_unwind_image(own.memory, *c_library);
  ASSERT_GT(file.size(), size_t{64} * 1024);
  Elf64_Ehdr header;
  memcpy(&header, file.data(), sizeof(header));
  EXPECT_EQ(memcmp(header.e_ident, ELFMAG, SELFMAG), 0);
  EXPECT_EQ(header.e_phnum, 3);
}

TEST(TargetImage, WhatIsNone) {
  const Own own;
  TargetImage image;
  const std::string text(4096, 'x');
  EXPECT_FALSE(read_image(own.memory, own.ranges, reinterpret_cast<uint64_t>(text.data()), &image));
  EXPECT_FALSE(read_image(own.memory, own.ranges, 0, &image));
  // A header that lies about everything behind it.
  std::string lies(4096, '\xff');
  memcpy(lies.data(), ELFMAG, SELFMAG);
  lies[EI_CLASS] = ELFCLASS64;
  EXPECT_FALSE(read_image(own.memory, own.ranges, reinterpret_cast<uint64_t>(lies.data()), &image));
  image.start = reinterpret_cast<uint64_t>(lies.data());
  EXPECT_EQ(read_unwind_image(own.memory, image), "");
}

}  // namespace
}  // namespace memprof::cli
