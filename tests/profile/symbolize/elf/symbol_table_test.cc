// SPDX-License-Identifier: Apache-2.0
#include "profile/symbolize/elf/symbol_table.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

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

TEST(SymbolTable, ATableForSomeAddressesSaysTheSameAndIsSmall) {
  for (const char* name : {"pie", "exporting_stripped", "stripped"}) {
    const Opened all(name);
    std::vector<uint64_t> addresses;
    for (const auto& [function, address] : all.running.functions) {
      const auto vaddr =
          all.file->vaddr_of_offset(address - all.running.mapping.start + all.running.mapping.file_offset);
      if (!vaddr) continue;
      for (const uint64_t distance : {0, 1, 7, 15, 16, 17, 31, 64, 300})
        addresses.push_back(*vaddr + distance);
    }
    ASSERT_FALSE(addresses.empty());
    SymbolTable some(addresses);
    some.add(*all.file);
    some.finish();
    EXPECT_LE(some.size(), all.symbols.size());
    for (const uint64_t address : addresses) {
      SymbolTable one({address});
      one.add(*all.file);
      one.finish();
      EXPECT_LE(one.size(), 4u) << "a function and its aliases, of " << all.symbols.size();
      std::string expected;
      std::string of_some;
      std::string of_one;
      const bool is_known = all.symbols.find(address, &expected);
      EXPECT_EQ(is_known, some.find(address, &of_some)) << name << " " << address << " " << expected;
      EXPECT_EQ(is_known, one.find(address, &of_one)) << name << " " << address << " " << expected;
      EXPECT_EQ(expected, of_some);
      EXPECT_EQ(expected, of_one);
      for (const char* alias : {"plain_c", "__another_name_of_plain_c"}) {
        EXPECT_EQ(all.symbols.usual_name(address, alias), one.usual_name(address, alias));
      }
    }
  }
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
