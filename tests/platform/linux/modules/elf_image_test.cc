// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/modules/elf_image.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <math.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include <cstring>
#include <map>
#include <string>

#include "platform/process.h"
#include "tests/support/loaded_modules.h"

namespace memprof::elf_image_test {
namespace {

using platform::ElfImage;
using platform::find_elf;
using platform::find_segment;
using platform::find_unwind_image;
using testing_support::loaded_modules;
using testing_support::LoadedModule;

uint64_t address_of(const void* p) {
  return reinterpret_cast<uint64_t>(p);
}

TEST(ElfImage, EachSegmentOfEachModule) {
  int with_index = 0;
  int segments = 0;
  for (const LoadedModule& module : loaded_modules()) {
    SCOPED_TRACE(module.path);
    uint64_t index = 0;
    for (const ElfW(Phdr) & h : module.headers) {
      index = h.p_type == PT_GNU_EH_FRAME ? module.bias + h.p_vaddr : index;
    }
    for (const ElfW(Phdr) & h : module.headers) {
      if (h.p_type != PT_LOAD || (h.p_flags & PF_X) == 0) {
        continue;
      }
      for (const uint64_t offset : {uint64_t{0}, h.p_memsz / 2, h.p_memsz - 1}) {
        const uint64_t address = module.bias + h.p_vaddr + offset;
        ElfImage image;
        ASSERT_TRUE(find_elf(address, &image));
        EXPECT_EQ(module.bias, image.bias);
        EXPECT_EQ(index, image.eh_frame);
        EXPECT_LE(image.map_start, address);
        EXPECT_GT(image.map_end, address);
        ASSERT_EQ(module.headers.size(), image.header_count);
        EXPECT_EQ(0, memcmp(module.headers.data(), image.headers, image.header_count * sizeof(ElfW(Phdr))));
        const ElfW(Phdr)* segment = find_segment(image, address);
        ASSERT_NE(nullptr, segment);
        EXPECT_EQ(h.p_vaddr, segment->p_vaddr);
        if (module.path.empty()) {
          EXPECT_STREQ(platform::program_path(), image.path);
        } else if (module.path[0] == '/') {
          EXPECT_EQ(module.path, image.path);
        }
        unwind::Image tables;
        ASSERT_EQ(index != 0, find_unwind_image(address, &tables));
        if (index != 0) {
          ++with_index;
          EXPECT_EQ(index, tables.index);
          EXPECT_LE(tables.readable_low, index);
          EXPECT_GT(tables.readable_high, index);
        }
      }
      ++segments;
    }
  }
  EXPECT_GE(segments, 4);
  EXPECT_GE(with_index, 12);
}

// The vdso is a module, too: its headers lie in the page that the kernel maps.
TEST(ElfImage, TheVdso) {
  const uint64_t vdso = getauxval(AT_SYSINFO_EHDR);
  if (vdso == 0) {
    GTEST_SKIP() << "this system has no vdso";
  }
  ElfImage image;
  ASSERT_TRUE(find_elf(vdso + 0x40, &image));
  EXPECT_NE(nullptr, image.headers);
  unwind::Image tables;
  EXPECT_TRUE(find_unwind_image(vdso + 0x40, &tables));
}

TEST(ElfImage, WhatIsInNoModule) {
  int on_the_stack = 0;
  void* block = malloc(16);
  void* page = mmap(nullptr, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ElfImage image;
  unwind::Image tables;
  for (const uint64_t address : {uint64_t{0}, uint64_t{1}, uint64_t{4096}, ~uint64_t{0}, uint64_t{1} << 63,
                                 address_of(&on_the_stack), address_of(block), address_of(page)}) {
    EXPECT_FALSE(find_elf(address, &image)) << address;
    EXPECT_FALSE(find_unwind_image(address, &tables)) << address;
  }
  munmap(page, 4096);
  free(block);
}

TEST(ElfImage, AddressesOfNoSegment) {
  ElfImage image;
  ASSERT_TRUE(find_elf(address_of(reinterpret_cast<const void*>(&loaded_modules)), &image));
  EXPECT_EQ(nullptr, find_segment(image, image.bias + (uint64_t{1} << 40)));
  EXPECT_EQ(nullptr, find_segment(image, 0));
  image.headers = nullptr;
  image.header_count = 0;
  EXPECT_EQ(nullptr, find_segment(image, image.map_start));
}

TEST(ElfImage, ALibraryThatComesAndGoes) {
  void* library = dlopen("libanl.so.1", RTLD_NOW);
  if (library == nullptr) {
    library = dlopen("libutil.so.1", RTLD_NOW);
  }
  if (library == nullptr) {
    GTEST_SKIP() << "no small library to load";
  }
  link_map* map = nullptr;
  ASSERT_EQ(0, dlinfo(library, RTLD_DI_LINKMAP, &map));
  const uint64_t inside = address_of(map->l_ld);
  ElfImage image;
  EXPECT_TRUE(find_elf(inside, &image));
  EXPECT_STREQ(map->l_name, image.path);
  dlclose(library);
  EXPECT_FALSE(find_elf(inside, &image));
}

}  // namespace
}  // namespace memprof::elf_image_test
