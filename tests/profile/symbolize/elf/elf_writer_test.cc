// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/elf/elf_writer.h"

#include <gtest/gtest.h>

#include <memory>

#include "profile/symbolize/elf/elf_file.h"
#include "profile/symbolize/elf/symbol_table.h"

namespace memprof::profile {
namespace {

std::unique_ptr<ElfFile> written(const ObjectFacts& facts) {
  OpenedFile file;
  file.image = std::make_unique<FileImage>(write_elf(facts));
  return ElfFile::of_file(std::move(file));
}

TEST(ElfWriter, WhatIsWrittenIsReadBack) {
  ObjectFacts facts;
  facts.build_id = std::string("\x01\xff\x00\x20", 4);
  facts.segments = {{0x400, 0x10400, 0x800}, {0x2000, 0x50000, 0x100}};
  facts.code = {{0x10400, 0x100}, {0x50000, 0x20}};
  facts.symbols = {{0x10400, 0x10, "first", 0, false},
                   {0x10410, 0x20, "second", 0, true},
                   {0x50000, 0x20, "in_another", 1, false},
                   {0x60000, 4, "nowhere", 7, false}};
  facts.debug = {{".debug_info", "some bytes"}, {".debug_str", ""}};
  const auto file = written(facts);
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->build_id(), "01ff0020");
  EXPECT_EQ(file->vaddr_of_offset(0x410), 0x10410u);
  EXPECT_EQ(file->vaddr_of_offset(0x2001), 0x50001u);
  EXPECT_EQ(file->vaddr_of_offset(0x1f00), std::nullopt);
  EXPECT_EQ(file->section(".debug_info"), "some bytes");
  SymbolTable symbols;
  symbols.add(*file);
  symbols.finish();
  std::string name;
  ASSERT_TRUE(symbols.find(0x1040f, &name));
  EXPECT_EQ(name, "first");
  ASSERT_TRUE(symbols.find(0x10410, &name));
  EXPECT_EQ(name, "second");
  ASSERT_TRUE(symbols.find(0x5001f, &name));
  EXPECT_EQ(name, "in_another");
  EXPECT_FALSE(symbols.find(0x10430, &name));
  EXPECT_FALSE(symbols.find(0x60000, &name));
}

TEST(ElfWriter, OfNothing) {
  const auto file = written({});
  ASSERT_NE(file, nullptr);
  EXPECT_EQ(file->build_id(), "");
  EXPECT_FALSE(file->has_debug_info());
}

}  // namespace
}  // namespace memprof::profile
