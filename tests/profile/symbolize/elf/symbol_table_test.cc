// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/elf/symbol_table.h"

#include <gtest/gtest.h>

#include "profile/symbolize/elf/elf_file.h"
#include "tests/profile/symbolize/fixture.h"

namespace memprof::profile {
namespace {

// A symbol table with the addresses of one run of its program.
struct Opened {
  explicit Opened(const std::string& name)
      : running(fixture::run(fixture::path(name), "")), file(ElfFile::open(fixture::path(name), &why)) {
    symbols.add(*file);
    symbols.finish();
  }
  // "" for none
  std::string at(const std::string& function, int64_t distance) const {
    const uint64_t address = running.functions.at(function) + static_cast<uint64_t>(distance);
    const auto vaddr = file->vaddr_of_offset(address - running.mapping.start + running.mapping.file_offset);
    std::string found;
    return vaddr && symbols.find(*vaddr, &found) ? found : "";
  }

  std::string why;
  fixture::Running running;
  std::unique_ptr<ElfFile> file;
  SymbolTable symbols;
};

TEST(SymbolTable, FindsFunctionsByAnyOfTheirAddresses) {
  const Opened pie("pie");
  EXPECT_EQ(pie.at("plain_c", 0), "plain_c");
  EXPECT_EQ(pie.at("plain_c", 5), "plain_c");
  EXPECT_EQ(pie.at("hidden(int)", 0), "_ZL6hiddeni");
  EXPECT_EQ(pie.at("fixture::exported(int)", 0), "_ZN7fixture8exportedEi");
}

TEST(SymbolTable, OfAliasesTakesThePlainName) {
  // __another_name_of_plain_c has the same address.
  EXPECT_EQ(Opened("pie").at("plain_c", 0), "plain_c");
  EXPECT_EQ(Opened("exporting_stripped").at("plain_c", 0), "plain_c");
}

TEST(SymbolTable, CodeWithoutASizeEndsAtTheNextSymbolAndWithItsSection) {
  const Opened pie("pie");
  EXPECT_EQ(pie.at("unsized_first", 0), "unsized_first");
  EXPECT_EQ(pie.at("unsized_first", 15), "unsized_first");
  EXPECT_EQ(pie.at("unsized_first", 16), "unsized_second");
  EXPECT_EQ(pie.at("unsized_second", 15), "unsized_second");
}

TEST(SymbolTable, NeverTakesTheNearestSymbol) {
  const Opened stripped("exporting_stripped");
  EXPECT_EQ(stripped.at("fixture::exported(int)", 0), "_ZN7fixture8exportedEi");
  // Static: its symbol is gone, and those of its neighbours do not reach it.
  EXPECT_EQ(stripped.at("hidden(int)", 0), "");
  EXPECT_EQ(stripped.at("fixture::(anonymous namespace)::anonymous(int)", 3), "");
  // Exported without a size, and what follows may be anybody's.
  EXPECT_EQ(stripped.at("unsized_first", 0), "");
}

TEST(SymbolTable, AStrippedFileHasNoNames) {
  const Opened stripped("stripped");
  for (const auto& [name, address] : stripped.running.functions) EXPECT_EQ(stripped.at(name, 1), "") << name;
}

TEST(SymbolTable, FindsNothingInAnEmptyTable) {
  SymbolTable symbols;
  symbols.finish();
  std::string name;
  EXPECT_FALSE(symbols.find(0, &name));
  EXPECT_FALSE(symbols.find(UINT64_MAX, &name));
}

}  // namespace
}  // namespace memprof::profile
