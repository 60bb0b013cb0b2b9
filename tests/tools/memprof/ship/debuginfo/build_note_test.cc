// SPDX-License-Identifier: Apache-2.0
#include "memprof/ship/debuginfo/build_note.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include "profile/files/descriptor.h"
#include "tests/tools/memprof/process.h"
#include "tests/tools/memprof/ship/debuginfo/elf_text.h"

namespace memprof::cli {
namespace {

using testing_tools::ElfText;

BuildNote note_of(const std::string& bytes) {
  const testing_tools::Folder folder;
  testing_tools::write_file(folder / "file", bytes);
  const profile::Descriptor file(open((folder / "file").c_str(), O_RDONLY | O_CLOEXEC));
  return read_build_note(file.get());
}

ElfText example() {
  ElfText elf;
  elf.id = "\x01\x23\x45\x67\xab";
  elf.link = "shop.debug";
  return elf;
}

TEST(BuildNote, IsThatOfTheFile) {
  const BuildNote note = note_of(example().bytes());
  EXPECT_EQ(note.build_id, "01234567ab");
  EXPECT_TRUE(note.has_names);
  ASSERT_TRUE(note.link);
  EXPECT_EQ(note.link->name, "shop.debug");
}

TEST(BuildNote, OfAStrippedFile) {
  ElfText elf = example();
  elf.has_symbols = false;
  elf.link = "";
  elf.is_in_segment = true;
  const BuildNote note = note_of(elf.bytes());
  EXPECT_EQ(note.build_id, "01234567ab");
  EXPECT_FALSE(note.has_names);
  EXPECT_FALSE(note.link);
}

TEST(BuildNote, OfThisProgram) {
  const profile::Descriptor file(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  EXPECT_TRUE(read_build_note(file.get()).has_names);
}

TEST(BuildNote, WhatIsNoneHasNone) {
  EXPECT_EQ(note_of("").build_id, "");
  EXPECT_EQ(note_of("#!/bin/sh\n" + std::string(200, 'x')).build_id, "");
  EXPECT_EQ(note_of("\177ELF").build_id, "");
  const profile::Descriptor closed(-1);
  EXPECT_EQ(read_build_note(closed.get()).build_id, "");
}

// Each end, and each byte of it as the largest and as zero: nothing is read outside of it.
TEST(BuildNote, DamagedFilesAreRead) {
  const std::string whole = example().bytes();
  const profile::Descriptor file(memfd_create("damaged", MFD_CLOEXEC));
  const auto put = [&](const std::string& bytes) {
    ASSERT_EQ(ftruncate(file.get(), 0), 0);
    ASSERT_EQ(pwrite(file.get(), bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
  };
  for (size_t size = 0; size < whole.size(); ++size) {
    put(whole.substr(0, size));
    read_build_note(file.get());
  }
  for (size_t at = 0; at < whole.size(); ++at) {
    for (const char value : {'\0', '\xff'}) {
      std::string damaged = whole;
      damaged[at] = value;
      put(damaged);
      EXPECT_LE(read_build_note(file.get()).build_id.size(), whole.size() * 2);
    }
  }
}

}  // namespace
}  // namespace memprof::cli
