// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/elf_image.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/auxv.h>

#include <cstring>

#include "core/platform.h"
#include "tests/support/engine.h"

namespace memprof::elf_image_test {
namespace {

using platform::ElfImage;
using platform::find_elf;
using platform::find_segment;

void some_function() {}

uint64_t own_address() {
  return reinterpret_cast<uint64_t>(&some_function);
}
uint64_t libc_address() {
  return reinterpret_cast<uint64_t>(dlsym(RTLD_DEFAULT, "gnu_get_libc_version"));
}

// What the loader tells everybody who asks for all modules.
bool ask_the_loader(uint64_t address, dl_phdr_info* info) {
  struct Question {
    uint64_t address;
    dl_phdr_info* info;
    bool found;
  } question{address, info, false};
  dl_iterate_phdr(
      [](dl_phdr_info* module, size_t, void* argument) {
        auto* q = static_cast<Question*>(argument);
        for (int i = 0; i < module->dlpi_phnum; ++i) {
          const ElfW(Phdr)& h = module->dlpi_phdr[i];
          if (h.p_type == PT_LOAD && q->address - (module->dlpi_addr + h.p_vaddr) < h.p_memsz) {
            *q->info = *module;
            q->found = true;
          }
        }
        return 0;
      },
      &question);
  return question.found;
}

TEST(ElfImage, IsWhatTheLoaderSays) {
  for (const uint64_t address : {own_address(), libc_address()}) {
    dl_phdr_info expected{};
    ASSERT_TRUE(ask_the_loader(address, &expected));
    ElfImage image{};
    ASSERT_TRUE(find_elf(address, &image));
    EXPECT_LE(image.map_start, address);
    EXPECT_GT(image.map_end, address);
    EXPECT_EQ(expected.dlpi_addr, image.bias);
    ASSERT_EQ(expected.dlpi_phnum, image.header_count);
    EXPECT_EQ(0, memcmp(expected.dlpi_phdr, image.headers, image.header_count * sizeof(*image.headers)));
    for (uint64_t i = 0; i < image.header_count; ++i) {
      if (image.headers[i].p_type == PT_GNU_EH_FRAME) {
        EXPECT_EQ(image.bias + image.headers[i].p_vaddr, image.eh_frame);
      }
    }
  }
}

TEST(ElfImage, FindsTheSegmentOfAnAddress) {
  ElfImage image{};
  ASSERT_TRUE(find_elf(own_address(), &image));
  const ElfW(Phdr)* code = find_segment(image, own_address());
  ASSERT_NE(nullptr, code);
  EXPECT_NE(0u, code->p_flags & PF_X);
  static int data = 1;
  const ElfW(Phdr)* writable = find_segment(image, reinterpret_cast<uint64_t>(&data));
  ASSERT_NE(nullptr, writable);
  EXPECT_NE(0u, writable->p_flags & PF_W);
  EXPECT_EQ(nullptr, find_segment(image, 0));
  EXPECT_EQ(nullptr, find_segment(image, libc_address()));
  EXPECT_EQ(nullptr, find_segment(ElfImage{}, own_address()));
}

TEST(ElfImage, UnwindTablesLieInWhatMayBeRead) {
  for (const uint64_t address : {own_address(), libc_address()}) {
    unwind::Image image{};
    ASSERT_TRUE(platform::find_unwind_image(address, &image));
    EXPECT_GE(image.index, image.readable_low);
    EXPECT_LT(image.index, image.readable_high);
    // The whole of it can be read.
    volatile uint8_t sum = 0;
    for (uint64_t at = image.readable_low; at < image.readable_high; ++at) {
      sum = static_cast<uint8_t>(sum + *reinterpret_cast<const volatile uint8_t*>(at));
    }
    EXPECT_EQ(1, *reinterpret_cast<const uint8_t*>(image.index));  // its version
  }
}

TEST(ElfImage, AddressesThatAreInNone) {
  int on_stack = 0;
  ElfImage image{};
  unwind::Image tables{};
  for (const uint64_t address :
       {uint64_t{0}, uint64_t{4096}, reinterpret_cast<uint64_t>(&on_stack), uint64_t{UINT64_MAX}}) {
    EXPECT_FALSE(find_elf(address, &image));
    EXPECT_FALSE(platform::find_unwind_image(address, &tables));
  }
}

}  // namespace
}  // namespace memprof::elf_image_test
