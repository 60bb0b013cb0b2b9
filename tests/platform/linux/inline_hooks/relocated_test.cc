// SPDX-License-Identifier: Apache-2.0
#include "platform/linux/inline_hooks/relocated.h"

#include <gtest/gtest.h>

#include "platform/linux/imports/import_targets.h"

namespace memprof::platform {
namespace {

#if defined(__x86_64__)
// A module as the loader maps it.
struct Image {
  ElfW(Dyn) dynamic[4] = {};
  ElfW(Rela) relocations[2] = {};
  uint64_t packed[2] = {};
  uint64_t word = 0;
};

class Relocated : public ::testing::Test {
 protected:
  void SetUp() override {
    headers_[0].p_type = PT_LOAD;
    headers_[0].p_flags = PF_R;
    headers_[0].p_memsz = sizeof(Image);
    headers_[1].p_type = PT_DYNAMIC;
    headers_[1].p_vaddr = offsetof(Image, dynamic);
    headers_[1].p_memsz = sizeof(image_.dynamic);
    module_.dlpi_addr = reinterpret_cast<uint64_t>(&image_);
    module_.dlpi_phdr = headers_;
    module_.dlpi_phnum = 2;
  }
  void use_table(uint64_t address) {
    image_.dynamic[0] = {DT_RELA, {address}};
    image_.dynamic[1] = {DT_RELASZ, {sizeof(image_.relocations)}};
    image_.relocations[0].r_info = R_X86_64_64;
    image_.relocations[1] = {offsetof(Image, word), R_X86_64_RELATIVE, 0x123};
  }

  Image image_;
  ElfW(Phdr) headers_[2] = {};
  dl_phdr_info module_ = {};
};

TEST_F(Relocated, ByItsFirstWord) {
  for (const uint64_t base : {uint64_t{0}, module_.dlpi_addr}) {  // the loader has added it, or not yet
    use_table(base + offsetof(Image, relocations));
    for (const uint64_t before : {0, 0x123}) {
      image_.word = before;
      EXPECT_FALSE(is_relocated(module_));
    }
    image_.word = module_.dlpi_addr + 0x123;
    EXPECT_TRUE(is_relocated(module_));
  }
}

TEST_F(Relocated, ByAPackedTable) {
  image_.dynamic[0] = {36, {offsetof(Image, packed)}};
  image_.packed[0] = offsetof(Image, word);
  image_.word = 0x123;
  EXPECT_FALSE(is_relocated(module_));
  image_.word += module_.dlpi_addr;
  EXPECT_TRUE(is_relocated(module_));
}

TEST_F(Relocated, WhatDoesNotTellIs) {
  EXPECT_TRUE(is_relocated(module_));
  use_table(uint64_t{1} << 40);  // outside
  EXPECT_TRUE(is_relocated(module_));
  use_table(offsetof(Image, relocations));
  image_.relocations[1].r_offset = sizeof(Image);
  EXPECT_TRUE(is_relocated(module_));
  module_.dlpi_phnum = 1;
  EXPECT_TRUE(is_relocated(module_));
}
#endif

TEST(RelocatedModules, AllThatAreLoaded) {
  each_module([](const dl_phdr_info& module) {
    EXPECT_TRUE(is_relocated(module)) << module.dlpi_name;
    return false;
  });
}

}  // namespace
}  // namespace memprof::platform
