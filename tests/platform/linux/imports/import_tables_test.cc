// SPDX-License-Identifier: Apache-2.0
// Tables that are kept: each is the module's, whatever came and went in its place.
#include "platform/linux/imports/import_tables.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <vector>

#include "platform/linux/imports/import_targets.h"
#include "platform/linux/interpose/hook_table.h"
#include "tests/support/import_fixtures.h"
#include "tests/support/single_import_table.h"

namespace memprof::import_tables_test {
namespace {

using platform::each_module;
using platform::ImportTable;
using platform::ImportTables;
using platform::WantedNames;
using testing_support::FixtureLibrary;
using testing_support::SingleImportTable;
using testing_support::with_module;

std::vector<uint64_t> slots(const ImportTable& table) {
  std::vector<uint64_t> found;
  table.each_slot([&](const ImportTable::Slot& slot) {
    found.push_back(slot.address);
    found.push_back(slot.name);
  });
  return found;
}

TEST(ImportTables, OfEachModuleWhatATableOfItsOwnHas) {
  std::vector<const char*> names;
  for (uint32_t i = 0; i < interpose::g_hook_count; ++i) {
    names.push_back(interpose::g_hooks[i].name);
  }
  const WantedNames wanted(names.data(), interpose::g_hook_count);
  const FixtureLibrary library("now");
  const auto tables = std::make_unique<ImportTables>();
  size_t found = 0;
  for (int round = 0; round < 2; ++round) {
    uint32_t modules = 0;
    each_module([&](const dl_phdr_info& info) {
      const SingleImportTable own(info, wanted);
      const ImportTable& table = tables->of(info);
      ++modules;
      found += slots(own).size();
      EXPECT_EQ(slots(own), slots(table)) << info.dlpi_name;
      EXPECT_EQ(own.is_readable(), table.is_readable());
      EXPECT_STREQ(own.soname(), table.soname());
      for (uint32_t name = 0; name < interpose::g_hook_count; ++name) {
        EXPECT_EQ(own.definition(name) == nullptr, table.definition(name) == nullptr) << names[name];
        if (own.definition(name) != nullptr && table.definition(name) != nullptr) {
          EXPECT_EQ(own.definition(name)->address, table.definition(name)->address) << names[name];
        }
      }
      return false;
    });
    EXPECT_EQ(modules, tables->kept());
  }
  EXPECT_LT(0u, found);
}

TEST(ImportTables, IsReadOnceUntilSomethingIsUnloaded) {
  const FixtureLibrary library("now");
  const auto tables = std::make_unique<ImportTables>();
  const ImportTable* first = nullptr;
  const auto look = [&](const dl_phdr_info& info) {
    if (first == nullptr) {
      first = &tables->of(info);
    }
    EXPECT_EQ(first, &tables->of(info));
  };
  EXPECT_TRUE(with_module(library.path, look));
  EXPECT_TRUE(with_module(library.path, look));
  // Another library in the place of one that went.
  uint64_t base = 0;
  const FixtureLibrary gone("no_plt");
  with_module(gone.path, [&](const dl_phdr_info& info) {
    base = info.dlpi_addr;
    EXPECT_FALSE(slots(tables->of(info)).empty());
  });
  gone.close();
  const FixtureLibrary next("lazy");
  with_module(next.path, [&](const dl_phdr_info& info) {
    const ImportTable& table = tables->of(info);
    EXPECT_EQ(1u, tables->kept()) << "what was there before is forgotten";
    EXPECT_STREQ(SingleImportTable(info, WantedNames()).soname(), table.soname());
    EXPECT_TRUE(table.is_of(info));
    if (info.dlpi_addr == base) {
      each_module([&](const dl_phdr_info& other) {
        EXPECT_TRUE(tables->of(other).is_of(other));
        return false;
      });
    }
  });
}

// What a loader would say of modules that have nothing.
TEST(ImportTables, AreRightWhenThereIsNoRoom) {
  const auto tables = std::make_unique<ImportTables>();
  static const ElfW(Phdr) header{};
  std::set<const ImportTable*> all;
  for (uint32_t i = 1; i <= 3000; ++i) {
    dl_phdr_info info{};
    info.dlpi_addr = i * uint64_t{4096};
    info.dlpi_phdr = &header;
    info.dlpi_subs = 7;
    const ImportTable& table = tables->of(info);
    EXPECT_TRUE(table.is_of(info));
    all.insert(&table);
  }
  EXPECT_EQ(1024u, tables->kept());
  EXPECT_EQ(1025u, all.size()) << "those that are kept, and the place of the others";
  EXPECT_TRUE(with_module(FixtureLibrary("now").path, [&](const dl_phdr_info& info) {
    EXPECT_FALSE(slots(tables->of(info)).empty());
    EXPECT_EQ(1u, tables->kept());
  }));
}

}  // namespace
}  // namespace memprof::import_tables_test
