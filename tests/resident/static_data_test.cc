// SPDX-License-Identifier: Apache-2.0
#include "resident/static_data.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace memprof::resident::static_data_test {
namespace {

constexpr uint64_t kStart = 0x10000;

// A file with code at 0 and data at 0x2000, of which `data_bytes` are in memory; its addresses begin at `first`.
class File {
 public:
  explicit File(uint64_t data_bytes, uint64_t first = 0) : bytes_(4096) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_phoff = sizeof(header);
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 3;
    Elf64_Phdr segments[3] = {};
    segments[0].p_type = PT_LOAD;
    segments[0].p_vaddr = first;
    segments[0].p_memsz = 0x1800;
    segments[1].p_type = PT_LOAD;
    segments[1].p_vaddr = first + 0x2000;
    segments[1].p_memsz = data_bytes;
    segments[2].p_type = PT_NOTE;
    segments[2].p_vaddr = first + 0x900000;
    segments[2].p_memsz = 0x1000;
    std::memcpy(bytes_.data(), &header, sizeof(header));
    std::memcpy(bytes_.data() + header.e_phoff, segments, sizeof(segments));
  }

  bool has(uint64_t start, uint64_t limit) {
    MemorySource source;
    source.context = this;
    source.read = [](void* context, uint64_t address, void* bytes, size_t size) {
      const auto& file = *static_cast<File*>(context);
      if (address < kStart || address + size > kStart + file.bytes_.size()) {
        return false;
      }
      std::memcpy(bytes, file.bytes_.data() + (address - kStart), size);
      return true;
    };
    return is_static_data(source, kStart, start, limit);
  }
  std::vector<char>& bytes() { return bytes_; }

 private:
  std::vector<char> bytes_;
};

TEST(StaticDataTest, IsWhatTheFilesHeadersSay) {
  for (const uint64_t first : {uint64_t{0}, uint64_t{0x400000}}) {
    File file(0x5000, first);
    EXPECT_TRUE(file.has(kStart + 0x3000, kStart + 0x7000)) << "to its end";
    EXPECT_TRUE(file.has(kStart + 0x3000, kStart + 0x8000)) << "and a little of others";
    EXPECT_FALSE(file.has(kStart + 0x3000, kStart + 0x100000)) << "nearly all of it is of others";
    EXPECT_FALSE(file.has(kStart + 0x7000, kStart + 0x9000)) << "behind its end";
  }
}

TEST(StaticDataTest, OfAFileThatIsNoProgramThereIsNone) {
  File image(0x5000);
  std::memset(image.bytes().data(), 1, 4096);
  EXPECT_FALSE(image.has(kStart + 0x3000, kStart + 0x7000));
}

TEST(StaticDataTest, WhatCannotBeReadIsBelieved) {
  File file(0x5000);
  file.bytes().resize(10);
  EXPECT_TRUE(file.has(kStart + 0x3000, kStart + 0x700000));
  File garbage(0x5000);
  std::memset(garbage.bytes().data() + 32, 0xff, 32);
  EXPECT_TRUE(garbage.has(kStart + 0x3000, kStart + 0x700000));
  File short_one(0x5000);
  short_one.bytes().resize(100);
  EXPECT_TRUE(short_one.has(kStart + 0x3000, kStart + 0x700000));
}

}  // namespace
}  // namespace memprof::resident::static_data_test
