// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/elf/elf_file.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <random>

#include "profile/symbolize/elf/symbol_table.h"
#include "tests/profile/symbolize/fixture.h"

namespace memprof::profile {
namespace {

TEST(ElfFile, ReadsTheBuildId) {
  std::string why;
  EXPECT_EQ(ElfFile::open(fixture::path("pie"), &why)->build_id(), fixture::kBuildId);
  EXPECT_EQ(ElfFile::open(fixture::path("changed"), &why)->build_id(), "ffffffff");
  EXPECT_EQ(ElfFile::open(fixture::path("no_id"), &why)->build_id(), "");
  // Its segments have no contents: the note is found as a section.
  EXPECT_EQ(ElfFile::open(fixture::path("linked/pie.debug"), &why)->build_id(), fixture::kBuildId);
}

TEST(ElfFile, SaysWhyAFileCannotBeUsed) {
  const fixture::Folder folder;
  std::string why;
  EXPECT_EQ(ElfFile::open(folder / "gone", &why), nullptr);
  EXPECT_EQ(why, "no such file or directory");
  EXPECT_EQ(ElfFile::open(folder.path(), &why), nullptr);
  EXPECT_EQ(why, "not a regular file");
  fixture::write_file(folder / "text", "a text, and not short at all, but no program");
  EXPECT_EQ(ElfFile::open(folder / "text", &why), nullptr);
  EXPECT_EQ(why, "not an ELF file");
  fixture::write_file(folder / "empty", "");
  EXPECT_EQ(ElfFile::open(folder / "empty", &why), nullptr);
  EXPECT_EQ(why, "not an ELF file");
}

TEST(ElfFile, APipeDoesNotBlock) {
  const fixture::Folder folder;
  ASSERT_EQ(mkfifo((folder / "pipe").c_str(), 0600), 0);
  std::string why;
  EXPECT_EQ(ElfFile::open(folder / "pipe", &why), nullptr);
  EXPECT_EQ(why, "not a regular file");
}

// Who opens it is told that there is no such device.
TEST(ElfFile, ADeviceIsNotOpened) {
  const fixture::Folder folder;
  if (mknod((folder / "device").c_str(), S_IFCHR | 0600, makedev(4095, 1 << 18)) != 0) {
    GTEST_SKIP() << "no right to make a device";
  }
  std::string why;
  EXPECT_EQ(ElfFile::open(folder / "device", &why), nullptr);
  EXPECT_EQ(why, "not a regular file");
}

TEST(ElfFile, SectionsLieSomewhere) {
  std::string why;
  const auto file = ElfFile::open(fixture::path("pie"), &why);
  ASSERT_NE(file, nullptr);
  const auto code = file->place_of_section(".text");
  ASSERT_TRUE(code.has_value());
  EXPECT_EQ(file->vaddr_of_offset(code->file_offset), code->vaddr);
  EXPECT_FALSE(file->place_of_section(".nothing").has_value());
}

// libelf and libdw read a length twice, and believe it.
TEST(ElfFile, AFileThatOthersCanChangeIsACopy) {
  const fixture::Folder folder;
  std::filesystem::copy_file(fixture::path("pie"), folder / "pie");
  ASSERT_EQ(chmod((folder / "pie").c_str(), 0646), 0);
  std::string why;
  const auto mine = ElfFile::open(fixture::path("pie"), &why);
  const auto file = ElfFile::open(folder / "pie", &why);
  ASSERT_NE(file, nullptr);
  EXPECT_TRUE(mine->is_trusted());
  EXPECT_FALSE(file->is_trusted());
  const auto size = std::filesystem::file_size(folder / "pie");
  const int fd = ::open((folder / "pie").c_str(), O_WRONLY);
  const std::string zeros(size, '\0');
  ASSERT_EQ(pwrite(fd, zeros.data(), size, 0), static_cast<ssize_t>(size));
  close(fd);
  for (const char* section : {".text", ".rodata", ".debug_info", ".debug_str", ".debug_line"}) {
    EXPECT_EQ(file->section(section), mine->section(section)) << section;
  }
  SymbolTable symbols;
  symbols.add(*file);
  symbols.finish();
  EXPECT_EQ(file->build_id(), fixture::kBuildId);
}

TEST(ElfFile, WhatOthersCanChangeAndIsTooLargeIsNotRead) {
  const fixture::Folder folder;
  std::filesystem::copy_file(fixture::path("pie"), folder / "pie");
  ASSERT_EQ(chmod((folder / "pie").c_str(), 0646), 0);
  std::filesystem::resize_file(folder / "pie", uintmax_t{1} << 40);
  std::string why;
  EXPECT_EQ(ElfFile::open(folder / "pie", &why), nullptr);
  EXPECT_EQ(why, "others can change it, and it is too large for a copy (more than 1 GiB)");
}

TEST(ElfFile, AFileThatMayNotBeReadSaysSo) {
  const fixture::Folder folder;
  std::filesystem::copy_file(fixture::path("pie"), folder / "pie");
  chmod((folder / "pie").c_str(), 0);
  std::string why;
  // Root may read everything, unless it asks as somebody else.
  const int before = setfsuid(geteuid() == 0 ? 65534 : geteuid());
  EXPECT_EQ(ElfFile::open(folder / "pie", &why), nullptr);
  setfsuid(static_cast<uid_t>(before));
  EXPECT_EQ(why, "permission denied");
}

TEST(ElfFile, FindsTheDebugLinkAndItsChecksum) {
  std::string why;
  const auto stripped = ElfFile::open(fixture::path("linked/pie"), &why);
  const auto link = stripped->debug_link();
  ASSERT_TRUE(link.has_value());
  EXPECT_EQ(link->name, "pie.debug");
  EXPECT_EQ(ElfFile::open(fixture::path("linked/pie.debug"), &why)->checksum(), link->crc);
  EXPECT_FALSE(ElfFile::open(fixture::path("pie"), &why)->debug_link().has_value());
}

TEST(ElfFile, OffsetsOutsideOfSegmentsHaveNoAddress) {
  std::string why;
  const auto file = ElfFile::open(fixture::path("pie"), &why);
  EXPECT_TRUE(file->vaddr_of_offset(0).has_value());
  EXPECT_FALSE(file->vaddr_of_offset(uint64_t{1} << 40).has_value());
  EXPECT_FALSE(file->vaddr_of_offset(UINT64_MAX).has_value());
}

// Everything that the symbolizer does to a file, on files that are damaged: no crash, whatever comes out.
void use(const std::string& path) {
  std::string why;
  const auto file = ElfFile::open(path, &why);
  if (file == nullptr) return;
  file->debug_link();
  SymbolTable symbols;
  symbols.add(*file);
  symbols.finish();
  std::string name;
  for (uint64_t offset = 0; offset < 0x4000; offset += 8) {
    if (const auto vaddr = file->vaddr_of_offset(offset)) symbols.find(*vaddr, &name);
  }
}

TEST(ElfFile, SurvivesTruncation) {
  const fixture::Folder folder;
  const std::string whole = fixture::read_file(fixture::path("pie"));
  ASSERT_GT(whole.size(), 4096u);
  for (size_t size = 0; size < whole.size(); size += size < 256 ? 7 : 331) {
    fixture::write_file(folder / "cut", whole.substr(0, size));
    use(folder / "cut");
  }
}

TEST(ElfFile, SurvivesWrongBytes) {
  const fixture::Folder folder;
  const std::string whole = fixture::read_file(fixture::path("pie"));
  std::mt19937_64 random(20240501);
  for (int round = 0; round < 300; ++round) {
    std::string damaged = whole;
    // The headers lie at the ends, and what they say decides everything.
    for (int i = 0; i < 12; ++i) {
      const size_t where = random() % 3;
      const size_t at = where == 0   ? random() % 1024
                        : where == 1 ? whole.size() - 1 - random() % 2048
                                     : random() % whole.size();
      if (at >= 16) damaged[at] = static_cast<char>(random() % 4 == 0 ? 0xff : random());
    }
    fixture::write_file(folder / "damaged", damaged);
    use(folder / "damaged");
  }
}

}  // namespace
}  // namespace memprof::profile
